import { hostname } from 'node:os';
import { createProcessReadings } from '@lemniscate/telemetry/process-readings.ts';
import type { Telemetry } from '@lemniscate/telemetry/start-telemetry.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { processMetrics } from '@lemniscate/shared/telemetry/process-metrics.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { aroundCalls } from '@lemniscate/shared/crash-points.ts';
import type { CrashPoint } from '@lemniscate/shared/crash-points.ts';
import { readCrashPoint } from './adapters/crash-points.ts';
import type { Sink } from './application/ports/sink.ts';
import type { Term } from './application/ports/term.ts';
import { beginTerm } from './adapters/postgres/term.ts';
import { createLogSigner } from './adapters/log-key.ts';
import { settingsOfExporter } from './adapters/settings.ts';
import { exportMetrics } from './application/export-metrics.ts';
import { readExporterConfig } from './config.ts';
import type { ExporterConfig } from './config.ts';
import { serveHealth } from './http/health.ts';
import { startExport } from './jobs/export.ts';
import { createLog, errorFields } from './log.ts';
import { createSinks } from './sinks/registry.ts';

/** Longest that a stop may take: the last batches are shipped in it. */
const stopDeadlineMs = 10_000;

const log = createLog((line) => process.stderr.write(line), systemClock.now);

async function main(): Promise<void> {
  const config = readExporterConfig(process.env);
  const point = readCrashPoint(config.LEMNISCATE_CRASH_POINTS);
  if (point !== null)
    log('warn', 'LEMNISCATE_CRASH_POINTS is set: this process kills itself where it is told to');
  const configured = createSinks(config, process.env);
  const sinks =
    point === null
      ? configured
      : configured.map((sink) =>
          aroundCalls(point, 'sink', sink, { open: true, deliver: true, anchor: true }),
        );
  if (sinks.length === 0)
    log('warn', 'no sink is configured: entries are ordered and leave the database nowhere');
  const begin = async (notified: () => void) => {
    const term = await beginTerm(config.DATABASE_URL, log, systemClock.now, notified);
    return point === null ? term : termWithCrashPoints(term, point);
  };
  const readings = createProcessReadings();
  const collect = async (): Promise<readonly MetricFamily[]> => [
    ...exportMetrics(await exporter.status()),
    ...processMetrics(readings, null),
  ];
  const telemetry = await openTelemetry(config, collect);
  const exporter = startExport({
    begin,
    sinks,
    seal: sealOf(config, configured),
    subject: 'spiffe://lemniscate/audit-exporter',
    settings: settingsOfExporter(config),
    log,
    now: systemClock.now,
    tracer: telemetry?.tracer ?? null,
  });
  const health =
    config.LEMNISCATE_EXPORTER_PORT === 0
      ? null
      : await serveHealth(exporter.status, collect, {
          host: config.LEMNISCATE_EXPORTER_HOST,
          port: config.LEMNISCATE_EXPORTER_PORT,
        });

  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log('info', 'stopping', { why });
    setTimeout(() => {
      log('error', 'did not stop in time; what is left is shipped at the next start');
      process.exit(1);
    }, stopDeadlineMs).unref();
    void exporter.stop().then(async () => {
      await telemetry?.stop();
      health?.close();
      log('info', 'stopped');
      process.exit(0);
    });
  };
  process.once('SIGTERM', () => stop('SIGTERM'));
  process.once('SIGINT', () => stop('SIGINT'));
  if (config.LEMNISCATE_EXIT_WITH_PARENT) process.stdin.once('end', () => stop('parent gone')).resume();
  log('info', 'started', { sinks: sinks.map(({ name }) => name) });
}

/** Without an endpoint OpenTelemetry is not even loaded; `/metrics` works all the same. */
async function openTelemetry(
  config: ExporterConfig,
  collect: () => Promise<readonly MetricFamily[]>,
): Promise<Telemetry | null> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return null;
  const { startTelemetry } = await import('@lemniscate/telemetry/start-telemetry.ts');
  return startTelemetry({
    service: 'audit-exporter',
    instance: `${hostname()}-${process.pid}`,
    environment: process.env,
    collect,
    onLost: (error) => log('warn', 'the last spans and metrics could not be sent', errorFields(error)),
  });
}

/** Before and after each commit of a term. */
function termWithCrashPoints(term: Term, point: CrashPoint): Term {
  return {
    ...term,
    store: aroundCalls(point, 'commit log', term.store, { order: true, advance: true }),
    seals: aroundCalls(point, 'commit seal', term.seals, {
      addFirstKey: true,
      append: true,
      seal: true,
      publish: true,
      advanceAnchor: true,
    }),
  };
}

function sealOf(config: ExporterConfig, sinks: readonly Sink[]) {
  const { LEMNISCATE_LOG_KEY: key } = config;
  if (key === undefined) {
    log('warn', 'LEMNISCATE_LOG_KEY is not set: the log is chained, but nobody signs checkpoints of it');
    return null;
  }
  const signer = createLogSigner({
    key,
    nextKey: config.LEMNISCATE_LOG_KEY_NEXT,
    restoredFrom: config.LEMNISCATE_LOG_RESTORED_FROM,
    memoryFolder: config.LEMNISCATE_LOG_MEMORY,
    witnesses: sinks.flatMap(({ witness }) => witness ?? []),
  });
  const everyMs = config.LEMNISCATE_LOG_CHECKPOINT_SECONDS * 1_000;
  return { signer, everyMs };
}

// Node would write the fault's sentence, which may quote what it was given
process.on('uncaughtException', (error) => {
  log('error', 'a fault that nothing expects', errorFields(error));
  process.exit(1);
});
main().catch((error: unknown) => {
  log('error', 'cannot start', errorFields(error));
  process.exit(1);
});
