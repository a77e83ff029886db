import type { StartReport } from '@lemniscate/shared/api/fleet-health.ts';
import type { Transaction } from '../ports/transaction.ts';

const ms = (from: string, to: string): string => `extract(epoch FROM ${to} - ${from}) * 1000`;
const queued = ms('created_at', 'started_at');
const starting = ms('started_at', 'running_at');
const rank = (share: number, of: string): string =>
  `percentile_cont(${share}) WITHIN GROUP (ORDER BY ${of})::float8`;
const latency = (name: string, of: string): string =>
  `jsonb_build_object('p50', ${rank(0.5, of)}, 'p95', ${rank(0.95, of)}, 'p99', ${rank(0.99, of)}) AS ${name}`;

type Summary = Pick<StartReport, 'started' | 'queued' | 'starting'> & Record<string, unknown>;

/**
 * How the sessions of the last hours began and ended: the wait for a server, the start there, and the reasons of the
 * ends. Made from the sessions' own stamps, so that it also tells of what nobody watched.
 */
export async function reportStarts(
  tx: Transaction,
  sinceHours: number,
  seen: readonly string[] | null,
): Promise<StartReport> {
  const values = [sinceHours, seen];
  const born = `created_at > now() - make_interval(hours => $1) AND ($2::text[] IS NULL OR project_id = ANY($2))`;
  const ended = `ended_at > now() - make_interval(hours => $1) AND ($2::text[] IS NULL OR project_id = ANY($2))`;
  const [summary] = await tx.query<Summary>(
    `SELECT count(running_at)::int AS started, ${latency('queued', queued)}, ${latency('starting', starting)}
     FROM sessions WHERE ${born}`,
    values,
  );
  const hours = await tx.query<StartReport['hours'][number]>(
    `SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"') AS at,
       count(b.started_at)::int AS started, ${rank(0.95, 'b.queued')} AS "queuedP95",
       ${rank(0.95, 'b.starting')} AS "startingP95",
       (SELECT count(*)::int FROM sessions e WHERE e.ended_at >= hour AND e.ended_at < hour + interval '1 hour'
          AND ($2::text[] IS NULL OR e.project_id = ANY($2))) AS ended,
       (SELECT count(*)::int FROM sessions e WHERE e.ended_at >= hour AND e.ended_at < hour + interval '1 hour'
          AND e.state IN ('failed', 'timeout') AND ($2::text[] IS NULL OR e.project_id = ANY($2))) AS failed
     FROM generate_series(date_trunc('hour', now()) - make_interval(hours => $1 - 1), date_trunc('hour', now()),
       interval '1 hour') AS hour
     LEFT JOIN (SELECT date_trunc('hour', created_at) AS born, started_at, ${queued} AS queued, ${starting} AS starting
       FROM sessions WHERE ${born}) b ON b.born = hour
     GROUP BY hour ORDER BY hour`,
    values,
  );
  const reasons = await tx.query<StartReport['reasons'][number]>(
    `SELECT state, coalesce(reason, '') AS reason, count(*)::int AS sessions FROM sessions WHERE ${ended}
     GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
    values,
  );
  const attempts = await tx.query<StartReport['attempts'][number]>(
    `SELECT a.state, a.server_id AS server, count(*)::int AS attempts FROM attempts a JOIN sessions s ON s.id = a.session_id
     WHERE a.state IN ('lost', 'refused') AND a.created_at > now() - make_interval(hours => $1)
       AND ($2::text[] IS NULL OR s.project_id = ANY($2))
     GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 100`,
    values,
  );
  if (summary === undefined) throw new Error('an aggregate always has a row');
  return { sinceHours, ...summary, hours: [...hours], reasons: [...reasons], attempts: [...attempts] };
}
