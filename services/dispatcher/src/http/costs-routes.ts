import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Clock } from '@lemniscate/shared/clock.ts';
import {
  anomalySchema,
  costBudgetSchema,
  costCentreSchema,
  costGroupSchema,
  costReportSchema,
  forecastSchema,
  poolPricesSchema,
  unitCostSchema,
} from '@lemniscate/shared/costs/cost-report.ts';
import type { CostReport, CostRow } from '@lemniscate/shared/costs/cost-report.ts';
import { costSeriesSchema, seriesGroupSchema } from '@lemniscate/shared/costs/cost-series.ts';
import { csvLine } from '@lemniscate/shared/costs/csv.ts';
import { findAnomalies, forecastMonth } from '@lemniscate/shared/costs/outlook.ts';
import type { DayCost } from '@lemniscate/shared/costs/outlook.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import { listBudgets, readCostCentre, readPoolPrices } from '../application/costs/budgets.ts';
import { costSeries } from '../application/costs/cost-series.ts';
import { exportFocus } from '../application/costs/export-costs.ts';
import { costsByDay, reportCosts, unitCosts } from '../application/costs/report-costs.ts';
import type { CostSpan } from '../application/costs/report-costs.ts';
import type { Database } from '../application/ports/transaction.ts';
import type { App } from './app.ts';
import { etagOf } from './versions.ts';

export interface CostRouteDeps {
  readonly database: Database;
  readonly clock: Clock;
}

const dayMs = 86_400_000;
const named = z.string().min(1).max(200);
const spanSchema = z.object({
  /** First day, in UTC; without it the first of the month. */
  from: z.iso.date().optional(),
  /** The day after the last; without it tomorrow. */
  to: z.iso.date().optional(),
  project: z.string().min(1).max(200).optional(),
});
type SpanQuery = z.infer<typeof spanSchema>;

/** Public listener: what sessions cost. */
export function registerCostRoutes(app: App, { database, clock }: CostRouteDeps): void {
  const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const today = (): string => dayAt(clock.now().getTime());
  const spanOf = (query: SpanQuery): CostSpan => ({
    from: query.from ?? `${today().slice(0, 7)}-01`,
    to: query.to ?? dayAt(clock.now().getTime() + dayMs),
    project: query.project,
  });

  app.get(
    '/v1/costs',
    {
      schema: {
        querystring: spanSchema.extend({
          groupBy: costGroupSchema.default('project'),
          limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
          format: z.enum(['json', 'csv']).default('json'),
        }),
        response: {
          200: {
            description: 'As JSON, or with `format=csv` as a table.',
            content: { 'application/json': { schema: costReportSchema }, 'text/csv': { schema: z.string() } },
          },
        },
      },
    },
    async (request, reply) => {
      const { groupBy, limit, format } = request.query;
      const report = await reportCosts(database, groupBy, spanOf(request.query), limit);
      if (format === 'json') return report;
      void reply.header('content-type', 'text/csv; charset=utf-8');
      return reply.serializer(String).send(toCsv(report));
    },
  );

  app.get(
    '/v1/costs/series',
    {
      schema: {
        querystring: spanSchema.extend({ groupBy: seriesGroupSchema.default('project') }),
        response: { 200: costSeriesSchema },
      },
    },
    (request) => costSeries(database, request.query.groupBy, spanOf(request.query)),
  );

  app.get('/v1/costs/export', { schema: { querystring: spanSchema } }, (request, reply) => {
    const account = { id: 'lemniscate', name: 'Lemniscate' };
    void reply.header('content-type', 'text/csv; charset=utf-8');
    void reply.header('content-disposition', 'attachment; filename="focus-1.2.csv"');
    return reply.send(Readable.from(exportFocus(database, spanOf(request.query), account)));
  });

  app.get(
    '/v1/costs/unit',
    {
      schema: { querystring: spanSchema, response: { 200: z.object({ projects: z.array(unitCostSchema) }) } },
    },
    async (request) => ({ projects: await unitCosts(database, spanOf(request.query)) }),
  );

  app.get(
    '/v1/costs/forecast',
    {
      schema: {
        querystring: spanSchema.pick({ project: true }),
        response: { 200: forecastSchema },
      },
    },
    async (request) => {
      const from = dayAt(clock.now().getTime() - 60 * dayMs);
      const span = { from, to: dayAt(clock.now().getTime() + dayMs), project: request.query.project };
      return forecastMonth(addUp(await costsByDay(database, span)), today());
    },
  );

  app.get(
    '/v1/costs/anomalies',
    {
      schema: { querystring: spanSchema, response: { 200: z.object({ anomalies: z.array(anomalySchema) }) } },
    },
    async (request) => {
      const asked = spanOf(request.query);
      // The weeks that a day is compared with lie before the span.
      const from = dayAt(Date.parse(`${asked.from}T00:00:00Z`) - 28 * dayMs);
      const days = await costsByDay(database, { ...asked, from });
      const byProject = Object.groupBy(days, ({ project }) => project);
      const anomalies = Object.entries(byProject).flatMap(([project, series = []]) =>
        findAnomalies(series)
          .filter(({ day }) => day >= asked.from)
          .map((anomaly) => ({ project, ...anomaly })),
      );
      return { anomalies };
    },
  );

  app.get(
    '/v1/costs/budgets',
    { schema: { response: { 200: z.object({ budgets: z.array(costBudgetSchema) }) } } },
    async () => ({ budgets: await listBudgets(database) }),
  );

  app.get(
    '/v1/costs/centres/:project',
    { schema: { params: z.object({ project: named }), response: { 200: costCentreSchema } } },
    async (request, reply) => {
      const centre = await readCostCentre(database, request.params.project);
      void reply.header('etag', etagOf(centre.version));
      return centre;
    },
  );

  app.get(
    '/v1/costs/pools/:pool',
    { schema: { params: z.object({ pool: named }), response: { 200: poolPricesSchema } } },
    async (request, reply) => {
      const prices = await readPoolPrices(database, request.params.pool);
      void reply.header('etag', etagOf(prices.version));
      return prices;
    },
  );
}

/** All projects' days in one series. */
function addUp(days: readonly DayCost[]): DayCost[] {
  const byDay = Object.groupBy(days, ({ day }) => day);
  return Object.entries(byDay).map(([day, costs = []]) => ({
    day,
    usd: Decimal.sum(0, ...costs.map(({ usd }) => usd)).toFixed(),
  }));
}

function toCsv(report: CostReport): string {
  const names = Object.keys(report.total) as (keyof CostRow)[];
  const head = csvLine(names.map((name) => (name === 'group' ? report.groupBy : name)));
  return head + report.rows.map((row) => csvLine(names.map((name) => row[name]))).join('');
}
