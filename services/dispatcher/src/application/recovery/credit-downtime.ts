import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Gives every live attempt the time during which its renewals could not be taken: a lease counts silence of the
 * server, never ours or that of Postgres. Start deadlines move by the gap as well.
 */
export async function extendLeases(tx: Transaction, leaseMs: number, gapMs: number): Promise<number> {
  const rows = await tx.query(
    // In the order in which heartbeats lock them.
    `WITH alive AS MATERIALIZED (
       SELECT session_id, attempt FROM attempts WHERE state = 'live' ORDER BY session_id, attempt FOR NO KEY UPDATE
     )
     UPDATE attempts SET
       lease_expires_at = greatest(lease_expires_at, now() + $1 * interval '1 millisecond'),
       start_deadline = start_deadline + $2 * interval '1 millisecond'
     FROM alive WHERE attempts.session_id = alive.session_id AND attempts.attempt = alive.attempt
     RETURNING attempts.attempt`,
    [leaseMs, Math.max(0, Math.round(gapMs))],
  );
  return rows.length;
}

/** Measures the gaps between a loop's successful ticks. */
export interface GapWatch {
  /** @returns how long the loop was away beyond what is normal, 0 when it was not */
  gapMs(): number;
  /** A tick went through from end to end. */
  ticked(): void;
}

/**
 * @param normalMs the longest distance of two ticks that nobody needs to be credited for
 * @param unknownMs credited at first: how long nobody watched before this process began cannot be known
 */
export function createGapWatch(
  clock: Pick<Clock, 'monotonicMs'>,
  normalMs: number,
  unknownMs: number,
): GapWatch {
  let last: number | null = null;
  return {
    gapMs: () => {
      if (last === null) return unknownMs;
      const away = clock.monotonicMs() - last;
      return away > normalMs ? away : 0;
    },
    ticked: () => {
      last = clock.monotonicMs();
    },
  };
}
