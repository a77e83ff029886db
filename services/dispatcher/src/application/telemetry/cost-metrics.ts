import type { MetricFamily, MetricPoint } from '@lemniscate/shared/telemetry/metrics.ts';
import type { Transaction } from '../ports/transaction.ts';

interface CostRow extends Record<string, unknown> {
  readonly project: string;
  readonly provider: string;
  readonly model: string;
  readonly exchanges: number;
  readonly unpriced: number;
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly usd: number;
}

interface BudgetRow extends Record<string, unknown> {
  readonly scope: string;
  readonly name: string;
  readonly amount: number;
  readonly granted: number;
}

/** What has no price, and then the dearest ones, are told apart; a scraper is no place for a report. */
const mostRows = 500;

/**
 * What the month has cost so far, out of the rollups, which lag by some seconds. As floating-point numbers: for curves
 * and alarms, never for a bill (`GET /v1/costs` has exact ones). A month's turn is a counter's reset.
 */
export async function costMetrics(tx: Transaction): Promise<MetricFamily[]> {
  const [rows, budgets, [fold]] = await Promise.all([
    tx.query<CostRow>(
      `SELECT project_id AS project, provider, model, sum(exchanges)::float8 AS exchanges,
         sum(unpriced)::float8 AS unpriced, sum(input_tokens)::float8 AS input, sum(output_tokens)::float8 AS output,
         sum(cache_read_tokens)::float8 AS cache_read, sum(cache_write_tokens)::float8 AS cache_write,
         sum(input_usd + output_usd + cache_read_usd + cache_write_usd + other_usd + compute_usd)::float8 AS usd
       FROM cost_days WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date
       GROUP BY 1, 2, 3 ORDER BY sum(unpriced) > 0 DESC, usd DESC LIMIT ${mostRows}`,
    ),
    tx.query<BudgetRow>(
      `SELECT scope, name, amount_usd::float8 AS amount, granted_usd::float8 AS granted FROM cost_budgets
       ORDER BY amount_usd DESC LIMIT ${mostRows}`,
    ),
    tx.query<{ age: number }>(`SELECT extract(epoch FROM now() - folded_at)::float8 AS age FROM cost_fold`),
  ]);
  const points = (of: (row: CostRow) => number): MetricPoint[] =>
    rows.map((row) => ({
      labels: { project: row.project, provider: row.provider, model: row.model },
      value: of(row),
    }));
  const budgetPoints = (of: (row: BudgetRow) => number): MetricPoint[] =>
    budgets.map((row) => ({ labels: { scope: row.scope, name: row.name }, value: of(row) }));
  const kinds = ['input', 'output', 'cache_read', 'cache_write'] as const;
  return [
    { name: 'lemniscate_exchanges_total', points: points(({ exchanges }) => exchanges) },
    { name: 'lemniscate_unpriced_exchanges_total', points: points(({ unpriced }) => unpriced) },
    {
      name: 'lemniscate_tokens_total',
      points: kinds.flatMap((kind) =>
        points((row) => row[kind]).map(({ labels, value }) => ({ labels: { ...labels, kind }, value })),
      ),
    },
    { name: 'lemniscate_cost_usd_total', points: points(({ usd }) => usd) },
    { name: 'lemniscate_budget_usd', points: budgetPoints(({ amount }) => amount) },
    { name: 'lemniscate_budget_granted_usd', points: budgetPoints(({ granted }) => granted) },
    {
      name: 'lemniscate_cost_fold_age_seconds',
      points: [{ labels: {}, value: Math.max(0, fold?.age ?? 0) }],
    },
  ];
}
