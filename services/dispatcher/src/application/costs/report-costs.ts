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
  ${count('cache_write_tokens')} AS "cacheWriteTokens", ${text('tokens_usd')} AS "tokensUsd",
  ${text('slot_seconds')} AS "slotSeconds", ${text('compute_usd')} AS "computeUsd",
  ${text('total_usd')} AS "totalUsd", ${count('unpriced')} AS "unpriced",
  ${count('incomplete')} AS "incomplete"`;
const counted = [
  'exchanges',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'slot_seconds',
  'compute_usd',
  'unpriced',
  'incomplete',
];
/** Everything that is told of a group. */
const raw = [
  ...counted.map((column) => `sum(${column}) AS ${column}`),
  `sum(${tokenUsd}) AS tokens_usd`,
  `sum(${totalUsd}) AS total_usd`,
].join(', ');

const inSpan = `day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3)`;

/** Which sessions are the dearest is asked of narrow rows; the other sums are made for those alone. */
const dearestSessions = `top AS (
    SELECT session_id FROM cost_session_days WHERE ${inSpan} GROUP BY 1 ORDER BY sum(total_usd) DESC, 1 LIMIT $4),
  shown AS (
    SELECT session_id AS name, ${raw} FROM cost_sessions
    WHERE session_id = ANY (ARRAY(SELECT session_id FROM top)) AND ${inSpan} GROUP BY 1),
  whole AS (SELECT ${raw} FROM cost_days WHERE ${inSpan})`;

/** The rollup is read once: the whole is made of its groups. */
const groupedBy = (group: CostGroup): string => `whole AS MATERIALIZED (
    SELECT ${columns[group]} AS name, ${raw} FROM cost_days WHERE ${inSpan} GROUP BY 1),
  shown AS (SELECT * FROM whole ORDER BY ${group === 'day' ? 'name' : 'total_usd DESC, name'} LIMIT $4)`;

/** Sums costs by one dimension, the dearest first, out of the rollups. */
export async function reportCosts(
  database: Database,
  groupBy: CostGroup,
  span: CostSpan,
  limit: number,
): Promise<CostReport> {
  const order = groupBy === 'day' ? 'name' : 'sum(total_usd) DESC, name';
  const [[total, ...rows], [fold]] = await Promise.all([
    database.query<PlacedRow>(
      `WITH ${groupBy === 'session' ? dearestSessions : groupedBy(groupBy)}
       SELECT 0 AS place, 'total' AS "group", ${sums} FROM whole
       UNION ALL
       SELECT row_number() OVER (ORDER BY ${order}), name, ${sums} FROM shown GROUP BY name
       ORDER BY place`,
      [span.from, span.to, span.project ?? null, limit],
    ),
    database.query<{ at: string }>('SELECT folded_at AS at FROM cost_fold'),
  ]);
  if (total === undefined || fold === undefined) throw new Error('an aggregate always has a row');
  return {
    groupBy,
    from: span.from,
    to: span.to,
    foldedAt: fold.at,
    rows: rows.map(toCostRow),
    total: toCostRow(total),
  };
}

/** The whole has the place 0, what is shown of it the places after. */
type PlacedRow = SumRow & { readonly place: number };

function toCostRow(row: PlacedRow): CostRow {
  const { place: _, group, ...sum } = row;
  return { group: group ?? '', ...sum };
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
