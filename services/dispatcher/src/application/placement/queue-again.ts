import type { PlacementJob } from '../ports/placement-queue.ts';
import type { Database } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';

export interface QueueAgainDeps {
  readonly database: Database;
  readonly signals: Signals;
}

/**
 * Puts a session that found no server back into the backlog, in the place of its birth. The generation is bumped by
 * compare-and-set: the job that runs now is of the old one, and the next job's id is new.
 * @param failures sentences on servers that failed so far
 * @param delayMs until it may be looked at again
 */
export async function queueAgain(
  deps: QueueAgainDeps,
  job: PlacementJob,
  failures: readonly string[],
  delayMs: number,
): Promise<void> {
  await deps.database.query(
    `WITH bumped AS (
       UPDATE sessions SET generation = generation + 1, version = version + 1, phase = 'queued'
       WHERE id = $1 AND generation = $2 AND state = 'pending' RETURNING id, generation
     ) INSERT INTO outbox (session_id, generation, failures, ready_at)
       SELECT id, generation, $3, now() + $4 * interval '1 millisecond' FROM bumped`,
    [job.sessionId, job.generation, failures, delayMs],
  );
  if (delayMs === 0) deps.signals.send('outbox', null);
}
