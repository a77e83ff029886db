import type { CostGroup, CostReport, CostRow } from '@lemniscate/shared/costs/cost-report.ts';
import type { Database } from '../ports/transaction.ts';
import { tokenUsd, totalUsd } from './cost-columns.ts';

/** Which costs are asked for. Days are in UTC; `to` is not part of the span. */
export interface CostSpan {
  readonly from: string;
  readonly to: string;
  readonly project?: string | undefined;
}

/** Columns of the rollups by the words of the API. */
const columns: Readonly<Record<CostGroup, string>> = {
  project: 'project_id',
  agent: 'agent',
  user: 'subject',
  model: 'model',
  provider: 'provider',
  runtime: 'runtime',
  day: 'day::text',
  costCentre: 'cost_centre',
  session: 'session_id',
};

type SumRow = Record<string, unknown> & {
  readonly [Key in keyof CostRow]: Key extends 'group' ? string | null : CostRow[Key];
};

const text = (expression: string): string => `trim_scale(coalesce(sum(${expression}), 0))::text`;
const count = (column: string): string => `coalesce(sum(${column}), 0)::bigint`;
const sums = `${count('exchanges')} AS "exchanges", ${count('input_tokens')} AS "inputTokens",
  ${count('output_tokens')} AS "outputTokens", ${count('cache_read_tokens')} AS "cacheReadTokens",
  ${count('cache_write_tokens')} AS "cacheWriteTokens", ${text(tokenUsd)} AS "tokensUsd",
  ${text('slot_seconds')} AS "slotSeconds", ${text('compute_usd')} AS "computeUsd",
  ${text(totalUsd)} AS "totalUsd", ${count('unpriced')} AS "unpriced",
  ${count('incomplete')} AS "incomplete"`;

const inSpan = `day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3)`;
const dearest = `sum(${totalUsd}) DESC`;

/** Which sessions are the dearest is asked of narrow rows; the other sums are made for those alone. */
const dearestSessions = `WITH top AS (
    SELECT session_id FROM cost_session_days WHERE ${inSpan} GROUP BY 1 ORDER BY sum(total_usd) DESC, 1 LIMIT $4)
  SELECT session_id AS "group", ${sums} FROM cost_sessions
  WHERE session_id = ANY (ARRAY(SELECT session_id FROM top)) AND ${inSpan}
  GROUP BY 1 ORDER BY ${dearest}, 1`;

function groupedBy(group: CostGroup): string {
  const order = group === 'day' ? '1' : `${dearest}, 1`;
  return `SELECT ${columns[group]} AS "group", ${sums} FROM cost_days WHERE ${inSpan}
    GROUP BY 1 ORDER BY ${order} LIMIT $4`;
}

/** Sums costs by one dimension, the dearest first, out of the rollups. */
export async function reportCosts(
  database: Database,
  groupBy: CostGroup,
  span: CostSpan,
  limit: number,
): Promise<CostReport> {
  const values = [span.from, span.to, span.project ?? null];
  const [rows, [total], [fold]] = await Promise.all([
    database.query<SumRow>(groupBy === 'session' ? dearestSessions : groupedBy(groupBy), [...values, limit]),
    database.query<SumRow>(`SELECT 'total' AS "group", ${sums} FROM cost_days WHERE ${inSpan}`, values),
    database.query<{ at: string }>('SELECT folded_at AS at FROM cost_fold'),
  ]);
  if (total === undefined || fold === undefined) throw new Error('an aggregate always has a row');
  return {
    groupBy,
    from: span.from,
    to: span.to,
    foldedAt: fold.at,
    rows: rows.map((row) => ({ ...row, group: row.group ?? '' })),
    total: { ...total, group: 'total' },
  };
}

/** What each day of a span cost, by project. */
export async function costsByDay(
  database: Database,
  span: CostSpan,
): Promise<{ project: string; day: string; usd: string }[]> {
  return database.query(
    `SELECT project_id AS project, day::text AS day, ${text(totalUsd)} AS usd
     FROM cost_days WHERE day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3)
     GROUP BY 1, 2 ORDER BY 1, 2`,
    [span.from, span.to, span.project ?? null],
  );
}

/** Cost of every accepted diff: all that the project's sessions cost, failed and rejected ones included. */
export async function unitCosts(database: Database, span: CostSpan) {
  return database.query<{
    project: string;
    sessions: number;
    acceptedDiffs: number;
    totalUsd: string;
    usdPerAcceptedDiff: string | null;
  }>(
    `WITH spent AS (
       SELECT project_id, count(DISTINCT session_id)::int AS sessions, sum(total_usd) AS usd
       FROM cost_session_days WHERE day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3) GROUP BY 1),
     accepted AS (
       SELECT s.project_id, count(*)::int AS diffs FROM diffs d JOIN sessions s ON s.id = d.session_id
       WHERE d.state = 'accepted' AND EXISTS (
         SELECT FROM cost_session_days c WHERE c.session_id = d.session_id AND c.day >= $1 AND c.day < $2)
       GROUP BY 1)
     SELECT project_id AS project, sessions, coalesce(diffs, 0) AS "acceptedDiffs",
       trim_scale(usd)::text AS "totalUsd", trim_scale(round(usd / nullif(diffs, 0), 6))::text AS "usdPerAcceptedDiff"
     FROM spent LEFT JOIN accepted USING (project_id) ORDER BY usd DESC`,
    [span.from, span.to, span.project ?? null],
  );
}
