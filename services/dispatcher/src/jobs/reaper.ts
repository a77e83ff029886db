import { tickFleet } from '../application/recovery/credit-downtime.ts';
import type { WatchDeps } from '../application/recovery/credit-downtime.ts';
import { reapAttempts } from '../application/recovery/reap-attempts.ts';
import type { ReapDeps } from '../application/recovery/reap-attempts.ts';

export interface ReaperDeps extends ReapDeps, WatchDeps {}

/** One tick: first credit what nobody could renew, then reap what is due all the same. */
export async function reap(deps: ReaperDeps): Promise<void> {
  await tickFleet(deps);
  await reapAttempts(deps);
}
