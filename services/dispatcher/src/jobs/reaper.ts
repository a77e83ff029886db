import { extendLeases } from '../application/recovery/credit-downtime.ts';
import type { GapWatch } from '../application/recovery/credit-downtime.ts';
import { reapAttempts } from '../application/recovery/reap-attempts.ts';
import type { ReapDeps } from '../application/recovery/reap-attempts.ts';

export interface ReaperDeps extends ReapDeps {
  readonly gaps: GapWatch;
  readonly leaseMs: number;
}

/** One tick: first credit what nobody could renew, then reap what is due all the same. */
export async function reap(deps: ReaperDeps): Promise<void> {
  const gapMs = deps.gaps.gapMs();
  if (gapMs > 0) {
    const extended = await extendLeases(deps.database, deps.leaseMs, gapMs);
    if (extended > 0)
      deps.log.info(
        { gapMs: Math.round(gapMs), extended },
        'leases were extended by the time of our own absence',
      );
  }
  await reapAttempts(deps);
  deps.gaps.ticked();
}
