import type { CostSeries, SeriesGroup } from '@lemniscate/shared/costs/cost-series.ts';
import type { Database } from '../ports/transaction.ts';
import { totalUsd } from './cost-columns.ts';
import type { CostSpan } from './report-costs.ts';

const columns: Readonly<Record<SeriesGroup, string>> = {
  project: 'project_id',
  agent: 'agent',
  user: 'subject',
  model: 'model',
};

/** Series that a chart tells apart; what is beyond them is summed as the rest. */
const maxGroups = 6;

/** What each day of a span cost, split by one dimension: its dearest values, and the rest under an empty name. */
export async function costSeries(
  database: Database,
  groupBy: SeriesGroup,
  span: CostSpan,
): Promise<CostSeries> {
  const column = columns[groupBy];
  const cost = `sum(${totalUsd})`;
  const inSpan = `day >= $1 AND day < $2 AND ($3::text IS NULL OR project_id = $3)`;
  const points = await database.query<{ day: string; group: string; usd: string }>(
    `WITH top AS (SELECT ${column} AS name FROM cost_days WHERE ${inSpan} GROUP BY 1 ORDER BY ${cost} DESC, 1 LIMIT ${maxGroups})
     SELECT day::text AS day, coalesce(top.name, '') AS "group", trim_scale(${cost})::text AS usd
     FROM cost_days LEFT JOIN top ON top.name = ${column} WHERE ${inSpan} GROUP BY 1, 2 ORDER BY 1, 2`,
    [span.from, span.to, span.project ?? null],
  );
  return { groupBy, from: span.from, to: span.to, points };
}
