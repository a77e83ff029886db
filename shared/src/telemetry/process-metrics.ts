import type { MetricFamily } from './metrics.ts';

/** What a process can say of itself; injected, since this folder does no I/O. */
export interface ProcessReadings {
  /** Processor time in seconds, memory in bytes. */
  readonly cpuSeconds: () => number;
  readonly memoryBytes: () => number;
  /** Share of time in which the event loop worked since the last call. */
  readonly loopBusy: () => number;
  readonly startedAtMs: number;
}

/** @param certificateExpiresAt null where the service has none */
export function processMetrics(
  readings: ProcessReadings,
  certificateExpiresAt: Date | null,
): readonly MetricFamily[] {
  const one = (name: MetricFamily['name'], value: number): MetricFamily => ({
    name,
    points: [{ labels: {}, value }],
  });
  return [
    one('process_start_time_seconds', readings.startedAtMs / 1_000),
    one('process_cpu_seconds_total', readings.cpuSeconds()),
    one('process_resident_memory_bytes', readings.memoryBytes()),
    one('lemniscate_event_loop_busy_ratio', readings.loopBusy()),
    ...(certificateExpiresAt === null
      ? []
      : [one('lemniscate_certificate_expiry_seconds', certificateExpiresAt.getTime() / 1_000)]),
  ];
}
