import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { SessionRequest } from '@lemniscate/shared/session/check-order.ts';

/**
 * Refuses another session of a project that has as many waiting as it may. Counting costs time in proportion to what
 * waits, so it is done only where the last look at the queues says that the bound is near; openings of one project then
 * take turns, and the bound holds exactly.
 * @throws CodedError `backlog_full`
 */
export async function refuseFullBacklog(
  tx: Transaction,
  request: SessionRequest,
  max: number,
): Promise<void> {
  if (request.server !== undefined) return;
  const [seen] = await tx.query<{ waiting: number }>(
    `SELECT coalesce(sum((lane ->> 'waiting')::int), 0)::int AS waiting
     FROM queue_book, jsonb_array_elements(lanes) AS lane WHERE lane ->> 'name' = $1`,
    [request.project],
  );
  if (max > alwaysCounted && (seen?.waiting ?? 0) < max / 2) return;
  const [, [counted]] = await Promise.all([
    tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('backlog:' || $1, 0))`, [request.project]),
    tx.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM (
         SELECT FROM outbox WHERE lane = $1 AND placement_class <> 'pinned' LIMIT $2) counted`,
      [request.project, max],
    ),
  ]);
  if ((counted?.waiting ?? 0) < max) return;
  throw new CodedError(
    'backlog_full',
    `Project "${request.project}" has ${max} sessions waiting already, which is its bound. Wait until some have started, stop some, or ask an operator to raise max backlog (PUT /v1/projects/${request.project}/queue).`,
    { project: request.project, maxBacklog: max },
  );
}

/** Counting so few costs nothing worth saving. */
const alwaysCounted = 100;
