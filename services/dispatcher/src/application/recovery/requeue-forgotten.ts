import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import { lookInOrder } from '../ordered-look.ts';
import type { PlacementJob, PlacementQueue } from '../ports/placement-queue.ts';
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
 * A session `s` that nothing holds on to: no row in the backlog, no environment that it waits for. As a value and not by
 * EXISTS, which for a thousand sessions was answered out of a hash of all that waits: 120 ms at 100,000.
 */
const isForgotten = `(s.waits_for_environment IS NULL AND s.queued_at < now() - $1 * interval '1 millisecond'
  AND (SELECT id FROM outbox WHERE outbox.session_id = s.id LIMIT 1) IS NULL)`;

/**
 * Puts admitted sessions whose job Redis has forgotten back on the way to it, oldest first.
 * @returns how many
 */
export async function requeueForgotten(deps: RequeueDeps): Promise<number> {
  const admitted = await lookInOrder<PendingRow>(
    deps.database,
    `SELECT s.id, s.generation, s.placement_class FROM sessions s
     WHERE s.state = 'pending' AND s.phase = 'admitted' AND ${isForgotten} ORDER BY s.queued_at LIMIT ${perTick}`,
    [settleMs],
  );
  return requeue(deps, admitted);
}

interface WalkedRow extends PendingRow {
  readonly project_id: string;
  readonly queued: string;
  readonly forgotten: boolean;
  readonly nth: number;
}

/** Before all that waits, in the order of the walk. */
const beginning = { project_id: '', queued: '-infinity', id: '' };

/**
 * Does the same for those that are not marked as admitted, such as one whose placement was cut off half-way. Each call
 * looks at the next thousand of all that wait, and at the end begins anew: as one statement over 100,000 it took longer
 * than a statement may.
 */
export function createBacklogWalk(deps: RequeueDeps): () => Promise<number> {
  let from = beginning;
  return async () => {
    const seen = await lookInOrder<WalkedRow>(
      deps.database,
      `WITH page AS MATERIALIZED (
         SELECT id, generation, placement_class, project_id, queued_at, waits_for_environment,
           row_number() OVER (ORDER BY project_id, queued_at, id) AS nth
         FROM sessions WHERE state = 'pending' AND (project_id, queued_at, id) > ($2, $3::timestamptz, $4)
         ORDER BY project_id, queued_at, id LIMIT ${perTick}
       )
       SELECT id, generation, placement_class, project_id, queued_at::text AS queued, nth, forgotten
       FROM page s CROSS JOIN LATERAL (SELECT ${isForgotten} AS forgotten) looked
       WHERE forgotten OR nth = ${perTick} ORDER BY nth`,
      [settleMs, from.project_id, from.queued, from.id],
    );
    const last = seen.at(-1);
    from = last?.nth === perTick ? last : beginning;
    return requeue(
      deps,
      seen.filter(({ forgotten }) => forgotten),
    );
  };
}

/**
 * The generation is bumped by compare-and-set: two dispatchers that see the same gap fill it once, and a job that was
 * not lost after all is of an old generation and does nothing.
 */
async function requeue(deps: RequeueDeps, pending: readonly PendingRow[]): Promise<number> {
  let requeued = 0;
  for (const [pool, rows] of Map.groupBy(pending, (row) => poolOfClass(row.placement_class))) {
    const jobs = rows.map((row) => ({ sessionId: row.id, generation: row.generation }));
    const missing = await deps.queue.missing(pool, jobs);
    if (missing.length > 0) requeued += await bump(deps.database, missing);
  }
  if (requeued > 0) deps.signals.send('outbox', null);
  return requeued;
}

/** All of them in one statement: after a Redis that forgot, they are a thousand. One that somebody holds comes back with the next look. */
async function bump(database: Database, jobs: readonly PlacementJob[]): Promise<number> {
  const bumped = await database.query(
    `WITH held AS MATERIALIZED (
       SELECT s.id FROM sessions s JOIN unnest($1::text[], $2::int[]) AS lost (id, generation)
         ON lost.id = s.id AND lost.generation = s.generation
       WHERE s.id = ANY ($1) AND s.state = 'pending' FOR NO KEY UPDATE OF s SKIP LOCKED
     ), bumped AS (
       UPDATE sessions SET generation = generation + 1, version = version + 1, phase = 'queued'
       WHERE id IN (SELECT id FROM held) RETURNING id, generation
     ) INSERT INTO outbox (session_id, generation) SELECT id, generation FROM bumped RETURNING id`,
    [jobs.map(({ sessionId }) => sessionId), jobs.map(({ generation }) => generation)],
  );
  return bumped.length;
}
