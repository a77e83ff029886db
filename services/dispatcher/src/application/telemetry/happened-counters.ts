import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import { createCounter, createHistogram } from '@lemniscate/shared/telemetry/metrics.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { parseTraceparent } from '@lemniscate/shared/telemetry/trace-context.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Counters of what has happened since this process began, read out of the record's stamps: nothing is counted that was
 * rolled back, nothing on a session's way, and every dispatcher counts the whole fleet.
 */
export interface HappenedCounters {
  /** Counts on to now. One call at a time. */
  advance(tx: Transaction): Promise<void>;
  families(): readonly MetricFamily[];
}

/** Stamps are those of a transaction's begin: what commits later than this after it is not counted. Seconds. */
const commitSeconds = 10;

/** Ends that an alert looks for, and the good one: a series has to be there before the first of them. */
const awaitedEnds = [
  'finished',
  'server_lost',
  'no_capacity',
  'start_failed',
  'runtime_failed',
  'result_unsaved',
  'queue_deadline',
] as const satisfies readonly EndReason[];
const waysToLose = ['lost', 'refused'] as const;
/** Pools whose series begin at zero; what happens in others is counted all the same. */
const mostPools = 50;

interface WindowRow extends Record<string, unknown> {
  readonly from: string;
  readonly until: string;
}
interface EndedRow extends Record<string, unknown> {
  readonly placement_class: string;
  readonly reason: string;
  readonly count: number;
}
interface LostRow extends Record<string, unknown> {
  readonly pool: string;
  readonly how: string;
  readonly count: number;
}
interface StartedRow extends Record<string, unknown> {
  readonly placement_class: string;
  readonly seconds: number;
  readonly trace_context: string | null;
}

export function createHappenedCounters(): HappenedCounters {
  const ended = createCounter('lemniscate_sessions_ended_total');
  const lost = createCounter('lemniscate_attempts_lost_total');
  const starts = createHistogram('lemniscate_session_start_seconds');
  let counted: string | null = null;

  return {
    advance: async (tx) => {
      const [window] = await tx.query<WindowRow>(
        `SELECT coalesce($1::timestamptz, now() - make_interval(secs => ${commitSeconds}))::text AS from,
           (now() - make_interval(secs => ${commitSeconds}))::text AS until`,
        [counted],
      );
      if (window === undefined) throw new Error('a query without a table has one row');
      const range = [window.from, window.until];
      const [pools, endedRows, lostRows, startedRows] = await Promise.all([
        tx.query<{ pool: string }>(
          `SELECT DISTINCT pool FROM agent_servers ORDER BY pool LIMIT ${mostPools}`,
        ),
        tx.query<EndedRow>(
          `SELECT placement_class, coalesce(reason, '') AS reason, count(*)::int AS count FROM sessions
           WHERE ended_at > $1::timestamptz AND ended_at <= $2::timestamptz GROUP BY 1, 2`,
          range,
        ),
        tx.query<LostRow>(
          `SELECT coalesce(agent_servers.pool, '') AS pool, attempts.state AS how, count(*)::int AS count
           FROM attempts LEFT JOIN agent_servers ON agent_servers.id = attempts.server_id
           WHERE attempts.state IN ('lost', 'refused') AND attempts.ended_at > $1::timestamptz
             AND attempts.ended_at <= $2::timestamptz GROUP BY 1, 2`,
          range,
        ),
        // what began to run in the window either lives or has ended since: both have an index
        tx.query<StartedRow>(
          `SELECT placement_class, trace_context,
             greatest(0, extract(epoch FROM running_at - queued_at))::float8 AS seconds FROM (
             SELECT placement_class, running_at, queued_at, trace_context FROM sessions
             WHERE state IN ('pending', 'starting', 'running', 'paused')
             UNION ALL
             SELECT placement_class, running_at, queued_at, trace_context FROM sessions
             WHERE ended_at > $1::timestamptz) AS candidates
           WHERE running_at > $1::timestamptz AND running_at <= $2::timestamptz`,
          range,
        ),
      ]);
      // Prometheus sees how much a series has grown since its first value: one that began with the first loss, which may be
      // of fifty sessions, would tell of none
      for (const { pool } of pools) {
        for (const reason of awaitedEnds) ended.add({ pool, reason }, 0);
        for (const how of waysToLose) lost.add({ pool, how }, 0);
        starts.begin({ pool });
      }
      for (const row of endedRows)
        ended.add({ pool: poolOfClass(row.placement_class), reason: row.reason }, row.count);
      for (const row of lostRows) lost.add({ pool: row.pool, how: row.how }, row.count);
      for (const row of startedRows)
        starts.observe(
          { pool: poolOfClass(row.placement_class) },
          row.seconds,
          parseTraceparent(row.trace_context)?.traceId ?? null,
        );
      counted = window.until;
    },
    families: () => [ended.family(), lost.family(), starts.family()],
  };
}
