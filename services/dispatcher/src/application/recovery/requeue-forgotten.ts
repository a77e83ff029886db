import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import type { PlacementQueue } from '../ports/placement-queue.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';

export interface RequeueDeps {
  readonly database: Database;
  readonly queue: PlacementQueue;
  readonly signals: Signals;
}

interface PendingRow extends Record<string, unknown> {
  readonly id: string;
  readonly generation: number;
  readonly placement_class: string;
}

/** Younger ones may still be on their way through the outbox of another dispatcher. */
const settleMs = 2_000;
const perTick = 1_000;

/**
 * Puts sessions whose job Redis has forgotten back on the way to it, oldest first. The generation is bumped by
 * compare-and-set: two dispatchers that see the same gap fill it once, and a job that was not lost after all is of an
 * old generation and does nothing.
 * @param thorough also those that are not marked as admitted, such as one whose placement was cut off half-way; it reads
 *   all that waits, so it is not for every tick
 * @returns how many
 */
export async function requeueForgotten(deps: RequeueDeps, thorough: boolean): Promise<number> {
  const pending = await deps.database.query<PendingRow>(
    `SELECT id, generation, placement_class FROM sessions
     WHERE state = 'pending' AND ${thorough ? 'true' : "phase = 'admitted'"}
       AND waits_for_environment IS NULL
       AND queued_at < now() - $1 * interval '1 millisecond'
       AND NOT EXISTS (SELECT FROM outbox WHERE outbox.session_id = sessions.id)
     ORDER BY queued_at LIMIT ${perTick}`,
    [settleMs],
  );
  let requeued = 0;
  for (const [pool, rows] of Map.groupBy(pending, (row) => poolOfClass(row.placement_class))) {
    const jobs = rows.map((row) => ({ sessionId: row.id, generation: row.generation }));
    for (const job of await deps.queue.missing(pool, jobs)) {
      const bumped = await deps.database.query(
        `WITH bumped AS (
           UPDATE sessions SET generation = generation + 1, version = version + 1, phase = 'queued'
           WHERE id = $1 AND generation = $2 AND state = 'pending' RETURNING id, generation
         ) INSERT INTO outbox (session_id, generation) SELECT id, generation FROM bumped RETURNING id`,
        [job.sessionId, job.generation],
      );
      requeued += bumped.length;
    }
  }
  if (requeued > 0) deps.signals.send('outbox', undefined);
  return requeued;
}
