import { createProcessReadings } from '@lemniscate/telemetry/process-readings.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { processMetrics } from '@lemniscate/shared/telemetry/process-metrics.ts';
import type { TlsMaterial } from './adapters/tls-material.ts';
import type { Log } from './application/ports/log.ts';
import { createSessionTraces } from './application/sessions/session-traces.ts';
import type { SessionTraces } from './application/sessions/session-traces.ts';
import type { Config } from './config.ts';

/** What watches this server. Without an endpoint OpenTelemetry is not even loaded; `/metrics` works all the same. */
export async function openTelemetry(
  config: Pick<Config, 'telemetry'>,
  tls: Pick<TlsMaterial, 'name' | 'expiresAt'>,
  ofServer: () => readonly MetricFamily[],
  log: Log,
): Promise<{
  readonly traces: SessionTraces | null;
  collect(): Promise<readonly MetricFamily[]>;
  stop(): Promise<void>;
}> {
  const readings = createProcessReadings();
  const collect = async (): Promise<readonly MetricFamily[]> => [
    ...ofServer(),
    ...processMetrics(readings, tls.expiresAt),
  ];
  if (!config.telemetry) return { traces: null, collect, stop: async () => undefined };
  const { startTelemetry } = await import('@lemniscate/telemetry/start-telemetry.ts');
  const telemetry = startTelemetry({
    service: 'agent-server',
    instance: tls.name,
    environment: process.env,
    collect,
    onLost: (error) => log.warn({ err: error }, 'the last spans and metrics could not be sent'),
  });
  return { traces: createSessionTraces(telemetry.tracer), collect, stop: telemetry.stop };
}
