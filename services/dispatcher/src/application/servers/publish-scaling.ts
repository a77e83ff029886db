import type { Clock } from '@lemniscate/shared/clock.ts';
import { wantedSlotsMetric } from '@lemniscate/shared/telemetry/embedded-metric.ts';
import type { Database } from '../ports/transaction.ts';
import { listPools } from './list-pools.ts';

export interface PublishScalingDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** What CloudWatch knows this fleet by; null: nothing is published. */
  readonly cloudWatchFleet: string | null;
  /** Hands a metric on as a line of its own. */
  readonly publishMetric: (metric: Readonly<Record<string, unknown>>) => void;
}

/** Tells CloudWatch how many slots each pool wants; its autoscaling groups follow that. */
export async function publishScaling(deps: PublishScalingDeps): Promise<void> {
  if (deps.cloudWatchFleet === null) return;
  const at = deps.clock.now().getTime();
  for (const pool of await listPools(deps.database))
    deps.publishMetric(wantedSlotsMetric(deps.cloudWatchFleet, pool, at));
}
