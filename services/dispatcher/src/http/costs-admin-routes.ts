import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  billLineSchema,
  budgetScopes,
  correctionResultSchema,
  reconciliationRowSchema,
} from '@lemniscate/shared/costs/cost-report.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readGivenPriceBook } from '@lemniscate/shared/model/given-price-book.ts';
import { overlayBook, withKnownIds } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { setBudget, setCostCentre, setPoolPrice } from '../application/costs/budgets.ts';
import { correctCosts } from '../application/costs/correct-costs.ts';
import { rebuildCosts } from '../application/costs/fold-costs.ts';
import { reconcileBill } from '../application/costs/reconcile-bill.ts';
import { actOnCosts, costChain } from '../application/costs/act-on-costs.ts';
import type { CostActDeps } from '../application/costs/act-on-costs.ts';
import type { Log } from '../application/ports/log.ts';
import { changeSetting } from '../application/setting-version.ts';
import type { App } from './app.ts';
import type { Person } from '../application/identity.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

export interface CostAdminDeps extends CostActDeps {
  readonly priceBook: PriceBook;
  readonly log: Log;
}

const money = z.string().regex(/^\d{1,12}(\.\d{1,12})?$/, 'must be a decimal text such as "250.00"');
const name = z.string().min(1).max(200);
const nothing = z.object({});
/** The version after a change; 0: it is removed. */
const changed = z.object({ version: z.int() });

/** Public listener: what people decide about costs. Programs may read costs and change nothing. */
export function registerCostAdminRoutes(app: App, deps: CostAdminDeps): void {
  const { database, priceBook, log } = deps;
  const byPerson = (request: FastifyRequest, what: string, details: object): Person => {
    const person = personOf(request);
    if (person.kind !== 'human')
      throw new CodedError(
        'forbidden',
        `Costs are changed by a person's login; ${person.name} is a program.`,
      );
    log.info({ subject: person.subject, ...details }, what);
    return person;
  };

  app.put(
    '/v1/costs/budgets/:scope/:name',
    {
      schema: {
        params: z.object({ scope: z.enum(budgetScopes), name }),
        body: z.strictObject({ amountUsd: money.nullable() }),
        response: { 200: changed },
      },
    },
    async (request, reply) => {
      const { scope, name: of } = request.params;
      const { amountUsd } = request.body;
      const person = byPerson(request, 'a budget was set', { scope, of, amountUsd });
      if (amountUsd !== null && /^[0.]+$/.test(amountUsd))
        throw new CodedError('request_invalid', 'A budget is more than zero; null removes it.');
      const chain = costChain(scope === 'project' ? of : null);
      const setting = {
        table: 'cost_budgets',
        key: [scope, of],
        what: `budget of ${scope} "${of}"`,
      } as const;
      const seen = readIfMatch(request, 'budget');
      const version = await actOnCosts(deps, person, chain, async (tx) => {
        const result = await changeSetting(tx, setting, seen, () => setBudget(tx, scope, of, amountUsd));
        return { type: 'budget.set', body: { scope, name: of, amountUsd }, result };
      });
      void reply.header('etag', etagOf(version));
      return { version };
    },
  );

  app.put(
    '/v1/costs/centres/:project',
    {
      schema: {
        params: z.object({ project: name }),
        body: z.strictObject({ costCentre: z.string().max(100) }),
        response: { 200: changed },
      },
    },
    async (request, reply) => {
      const { project } = request.params;
      const { costCentre } = request.body;
      const person = byPerson(request, 'a cost centre was set', { project, costCentre });
      const setting = { table: 'cost_centres', key: [project], what: `cost centre of "${project}"` } as const;
      const seen = readIfMatch(request, 'cost centre');
      const version = await actOnCosts(deps, person, costChain(project), async (tx) => {
        const result = await changeSetting(tx, setting, seen, () => setCostCentre(tx, project, costCentre));
        return { type: 'admin.acted', body: { act: 'set_cost_centre', target: project, costCentre }, result };
      });
      void reply.header('etag', etagOf(version));
      return { version };
    },
  );

  app.put(
    '/v1/costs/pools/:pool',
    {
      schema: {
        params: z.object({ pool: name }),
        body: z.strictObject({ fromDay: z.iso.date(), usdPerSlotHour: money }),
        response: { 200: changed },
      },
    },
    async (request, reply) => {
      const { pool } = request.params;
      const { fromDay, usdPerSlotHour } = request.body;
      const person = byPerson(request, 'a pool price was set', { pool, fromDay, usdPerSlotHour });
      const setting = { table: 'pool_prices', key: [pool], what: `price of pool "${pool}"` } as const;
      const seen = readIfMatch(request, 'price');
      const version = await actOnCosts(deps, person, costChain(null), async (tx) => {
        const result = await changeSetting(tx, setting, seen, () =>
          setPoolPrice(tx, pool, fromDay, usdPerSlotHour),
        );
        return { type: 'price.set', body: { of: 'pool', pool, fromDay, usdPerSlotHour }, result };
      });
      void reply.header('etag', etagOf(version));
      return { version };
    },
  );

  app.post(
    '/v1/costs/corrections',
    {
      schema: {
        body: z.strictObject({
          provider: name,
          model: name,
          from: z.iso.date(),
          to: z.iso.date(),
          reason: z.string().min(1).max(500),
          /** A price book in the form of `costs replay`; absent: the fleet's own, as it is now. */
          prices: z.unknown().optional(),
        }),
        response: { 200: correctionResultSchema },
      },
    },
    async (request) => {
      const { prices, ...correction } = request.body;
      const { reason, ...span } = correction;
      const person = byPerson(request, 'costs were corrected', span);
      const book =
        prices === undefined
          ? priceBook
          : overlayBook(priceBook, withKnownIds(readGivenPriceBook(prices, correction.provider), priceBook));
      return actOnCosts(deps, person, costChain(null), async (tx) => {
        const result = await correctCosts(tx, correction, book);
        // a person's words stay with the cost entries; the log commits to them
        const reasonCommitment = deps.audit.commit('reason', reason);
        const body = { ...span, reasonCommitment, ...result, priceBook: book.version };
        return { type: 'costs.corrected', body, result };
      });
    },
  );

  app.post(
    '/v1/costs/reconciliations',
    {
      schema: {
        body: z.strictObject({ lines: z.array(billLineSchema).min(1).max(10_000) }),
        response: { 200: z.object({ lines: z.array(reconciliationRowSchema) }) },
      },
    },
    async (request) => ({ lines: await reconcileBill(database, request.body.lines) }),
  );

  app.post('/v1/costs/rebuild', { schema: { response: { 200: nothing } } }, async (request) => {
    const person = byPerson(request, 'the rollups of costs are rebuilt', {});
    await rebuildCosts(database);
    await actOnCosts(deps, person, costChain(null), () =>
      Promise.resolve({ type: 'admin.acted', body: { act: 'rebuild_costs', target: 'rollups' } }),
    );
    return {};
  });
}
