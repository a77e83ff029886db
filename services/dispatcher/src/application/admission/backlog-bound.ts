import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Refuses more sessions of a project than it may have waiting. Counting costs time in proportion to what
 * waits, so it is done only where the last look at the queues says that the bound is near; openings of one project then
 * take turns, and the bound holds exactly.
 * @throws CodedError `backlog_full`
 */
export async function refuseFullBacklog(
  tx: Transaction,
  { project, adding, max }: { readonly project: string; readonly adding: number; readonly max: number },
): Promise<void> {
  const [seen] = await tx.query<{ waiting: number }>(
    `SELECT coalesce(sum((lane ->> 'waiting')::int), 0)::int AS waiting
     FROM queue_book, jsonb_array_elements(lanes) AS lane WHERE lane ->> 'name' = $1`,
    [project],
  );
  if (max > alwaysCounted && (seen?.waiting ?? 0) + adding < max / 2) return;
  const [, [counted]] = await Promise.all([
    tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('backlog:' || $1, 0))`, [project]),
    tx.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM (
         SELECT FROM outbox WHERE lane = $1 AND placement_class <> 'pinned' LIMIT $2) counted`,
      [project, max],
    ),
  ]);
  if ((counted?.waiting ?? 0) + adding <= max) return;
  throw new CodedError(
    'backlog_full',
    `Project "${project}" has ${max} sessions waiting already, which is its bound. Wait until some have started, stop some, or ask an operator to raise max backlog (PUT /v1/projects/${project}/queue).`,
    { project, maxBacklog: max },
  );
}

/** Counting so few costs nothing worth saving. */
const alwaysCounted = 100;
