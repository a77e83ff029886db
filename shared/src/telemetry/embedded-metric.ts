import type { PoolView } from '../api/pool.ts';

/**
 * The figure that an autoscaling group follows, as CloudWatch's embedded metric format: a log line that CloudWatch Logs
 * takes for a metric by itself (Amazon CloudWatch user guide, "Specification: Embedded metric format"). Slots wanted over
 * servers that there are: what a scaler holds at the slots of one server.
 */
export function wantedSlotsMetric(
  fleet: string,
  pool: PoolView,
  atMs: number,
): Readonly<Record<string, unknown>> {
  return {
    _aws: {
      Timestamp: atMs,
      CloudWatchMetrics: [
        {
          Namespace: 'Lemniscate',
          Dimensions: [['Fleet', 'Pool']],
          Metrics: [{ Name: 'WantedSlotsPerServer', Unit: 'Count' }],
        },
      ],
    },
    Fleet: fleet,
    Pool: pool.pool,
    // Without a server the wish counts whole, so that the first one is started.
    WantedSlotsPerServer: pool.wantedSlots / Math.max(1, pool.servers),
  };
}
