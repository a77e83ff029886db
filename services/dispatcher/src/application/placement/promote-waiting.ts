import type { PlacementQueue } from '../ports/placement-queue.ts';
import type { Reservations } from '../ports/reservations.ts';
import type { Transaction } from '../ports/transaction.ts';
import { defaultPool, queuePool } from '../servers/configured-server.ts';

export interface PromoteDeps {
  readonly database: Transaction;
  readonly queue: PlacementQueue;
  readonly reservations: Reservations;
}

interface WaitingRow extends Record<string, unknown> {
  readonly id: string;
  readonly generation: number;
  readonly pinned_server: string | null;
}

/** Pinned sessions are looked at this many at a time; each has a server of its own to wait for. */
const pinnedPerTick = 50;

/** Brings the oldest waiting sessions forward, as many as there are free slots: whoever came first goes first. */
export async function promoteWaiting(deps: PromoteDeps): Promise<void> {
  const free = await deps.reservations.freeSlots(defaultPool);
  const waiting = await deps.database.query<WaitingRow>(
    `(SELECT id, generation, pinned_server FROM sessions
      WHERE state = 'pending' AND pinned_server IS NULL ORDER BY queued_at, id LIMIT $1)
     UNION ALL
     (SELECT id, generation, pinned_server FROM sessions
      WHERE state = 'pending' AND pinned_server IS NOT NULL ORDER BY queued_at, id LIMIT ${pinnedPerTick})`,
    [free],
  );
  for (const [pool, rows] of Map.groupBy(waiting, (row) => queuePool(row.pinned_server)))
    await deps.queue.promote(
      pool,
      rows.map((row) => ({ sessionId: row.id, generation: row.generation })),
    );
}
