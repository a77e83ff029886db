import { createProcessReadings } from '@lemniscate/telemetry/process-readings.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { processMetrics } from '@lemniscate/shared/telemetry/process-metrics.ts';
import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { Log } from './application/ports/log.ts';
import type { Database } from './application/ports/transaction.ts';
import { createMetricsCollector } from './application/telemetry/collect-metrics.ts';
import type { DispatcherConfig } from './config.ts';
import type { RequestMeasures } from './http/measure-requests.ts';

interface Watched {
  readonly database: Database;
  readonly clock: Clock;
  readonly measures: RequestMeasures;
  readonly certificateExpiresAt: Date;
  readonly instance: string;
  readonly log: Log;
}

/** What watches this dispatcher. Without an endpoint OpenTelemetry is not even loaded, and `/metrics` works all the same. */
export async function openTelemetry(
  config: Pick<DispatcherConfig, 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  { database, clock, measures, certificateExpiresAt, instance, log }: Watched,
  parts: AsyncDisposableStack,
): Promise<{
  readonly tracer: Tracer | null;
  readonly collectMetrics: () => Promise<readonly MetricFamily[]>;
}> {
  const readings = createProcessReadings();
  const collectMetrics = createMetricsCollector({
    database,
    clock,
    ofProcess: () => [...measures.families(), ...processMetrics(readings, certificateExpiresAt)],
  });
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return { tracer: null, collectMetrics };
  const { startTelemetry } = await import('@lemniscate/telemetry/start-telemetry.ts');
  const telemetry = startTelemetry({
    service: 'dispatcher',
    instance,
    environment: process.env,
    collect: collectMetrics,
    onLost: (error) => log.warn({ err: error }, 'the last spans and metrics could not be sent'),
  });
  parts.defer(() => telemetry.stop());
  return { tracer: telemetry.tracer, collectMetrics };
}
