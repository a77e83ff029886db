import { performance } from 'node:perf_hooks';
import type { ProcessReadings } from '@lemniscate/shared/telemetry/process-metrics.ts';

/** The readings of this process. Loads nothing of OpenTelemetry. */
export function createProcessReadings(): ProcessReadings {
  let before = performance.eventLoopUtilization();
  return {
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000_000;
    },
    memoryBytes: () => process.memoryUsage.rss(),
    loopBusy: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
    startedAtMs: Date.now() - process.uptime() * 1_000,
  };
}
