import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { readGivenPriceBook } from '@lemniscate/shared/model/given-price-book.ts';
import { overlayBook } from '@lemniscate/shared/model/price-book.ts';
import { createTestExchanges, output } from '../../testing/traffic/exchanges.ts';
import type { Served } from '../../testing/traffic/exchanges.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { returnSlices, setBudget } from './budgets.ts';
import type { CostBudget } from './budgets.ts';
import { correctCosts } from './correct-costs.ts';

let record: TestRecord;
let exchanges: ReturnType<typeof createTestExchanges>;
before(async () => {
  record = await createTestRecord();
  exchanges = createTestExchanges(record);
});
after(() => record.close());
afterEach(() => setProjectBudget(null));

const setProjectBudget = (amount: string | null): Promise<void> =>
  record.database.transaction((tx) => setBudget(tx, 'project', 'local', amount));

/** Served under a condition that no book prices, and a book that does. */
const elsewhere: Served = { tier: { region: 'mars' } };
const withMars = overlayBook(
  readPinnedPriceBook(),
  readGivenPriceBook({ models: {}, modifiers: [{ name: 'region=mars', factor: '2' }] }, 'anthropic'),
);
const correct = (model: string) =>
  record.database.transaction((tx) =>
    correctCosts(
      tx,
      { provider: 'anthropic', model, from: '2000-01-01', to: '2100-01-01', reason: 'a test' },
      withMars,
    ),
  );

for (const [scope, name] of [
  ['project', 'local'],
  ['agent', 'default'],
] as const)
  test(`a session with unpriced usage is stopped by a budget of its ${scope}, until the price is there`, async (t) => {
    // another model served than the one that was asked, by which a correction finds it
    const [model, servedModel] = ['claude-opus-4-5', 'claude-opus-4-1'];
    const setTo = (amount: string | null) =>
      record.database.transaction((tx) => setBudget(tx, scope, name, amount));
    await setTo('1000');
    t.after(() => setTo(null));
    const claim = await openTestSession(record);
    const usageId = await exchanges.spend(claim, model, {
      ...elsewhere,
      servedModel,
      parts: [output(1_000)],
    });
    await assert.rejects(exchanges.begin(claim, model), (error: Error) => {
      assert.ok(error.message.includes(`The ${scope} ${name} has a budget of money`), error.message);
      assert.ok(error.message.includes(`the model ${servedModel} (${usageId}) has no price`), error.message);
      assert.ok(error.message.includes(`lemniscate costs correct anthropic ${model}`), error.message);
      return true;
    });
    await record.database.query('UPDATE sessions SET stop_reason = NULL WHERE id = $1', [claim.sessionId]);
    await correct(model);
    await exchanges.begin(claim, model);
  });

/** Whole, and billed by number for something that no book of this provider prices. */
const withFee: Served = { parts: [output(1_000)], fileSearches: 2 };

test('a fee without a price stops a session under a budget of its project', async () => {
  const model = 'claude-opus-4-5';
  await setProjectBudget('1000');
  const claim = await openTestSession(record);
  const usageId = await exchanges.spend(claim, model, withFee);
  await assert.rejects(exchanges.begin(claim, model), (error: Error) => {
    assert.ok(error.message.includes(`(${usageId}) has no price, or a fee of it has none`), error.message);
    return true;
  });
});

test('a budget of a project is kept whatever the policy allows', async () => {
  const model = 'claude-opus-4-5';
  await setProjectBudget('1000');
  for (const served of [elsewhere, withFee]) {
    const claim = await openTestSession(record, { policy: { budgets: { unpricedModels: 'allow' } } });
    await exchanges.spend(claim, model, served);
    await assert.rejects(exchanges.begin(claim, model), /has no price/);
  }
});

test('a fee without a price stops a session whose policy bounds its money, unless the policy allows it', async () => {
  const model = 'claude-opus-4-5';
  const bounded = await openTestSession(record, { policy: { budgets: { maxCostUsd: '5' } } });
  await exchanges.spend(bounded, model, { parts: [output(1_000)], webSearches: 1 });
  await exchanges.spend(bounded, model, withFee);
  await assert.rejects(exchanges.begin(bounded, model), /bills by number .* has no price/);
  const allowed = await openTestSession(record, {
    policy: { budgets: { maxCostUsd: '5', unpricedModels: 'allow' } },
  });
  await exchanges.spend(allowed, model, withFee);
  await exchanges.begin(allowed, model);
});

test('a budget of a project refuses a model without a price before it is asked', async () => {
  await setProjectBudget('1000');
  const claim = await openTestSession(record);
  await assert.rejects(
    exchanges.begin(claim, 'claude-unknown-2'),
    /project local has a budget of money, but the model has no price/,
  );
  const rows = await record.database.query('SELECT id FROM usage WHERE session_id = $1', [claim.sessionId]);
  assert.deepEqual(rows, []);
});

test('what a session ends with unpriced stays held of the budget, and a correction puts the cost in its place', async () => {
  const model = 'claude-opus-4-6';
  await setProjectBudget('1000');
  const claim = await openTestSession(record);
  const usageId = await exchanges.spend(claim, model, elsewhere);
  await record.database.query(
    `UPDATE sessions SET state = 'completed', ended_at = now() - interval '1 minute' WHERE id = $1`,
    [claim.sessionId],
  );
  const granted = async (): Promise<string> => {
    const [row] = await record.database.query<{ usd: string }>(
      'SELECT trim_scale(granted_usd)::text AS usd FROM cost_budgets',
    );
    return row?.usd ?? '';
  };
  await returnSlices(record.database, record.newId);
  const [row] = await record.database.query<{ usd: string }>(
    'SELECT trim_scale(reserved_usd)::text AS usd FROM usage WHERE id = $1',
    [usageId],
  );
  assert.equal(await granted(), row?.usd);
  assert.notEqual(row?.usd, '0');
  await correct(model);
  assert.equal(await granted(), '50');
});

test('a budget is silent at 79 per cent and warns at 80, once', async () => {
  await setProjectBudget('100');
  const claim = await openTestSession(record);
  await exchanges.begin(claim, 'claude-sonnet-4-6');
  const lookAt = async (usd: string): Promise<readonly (readonly [string, CostBudget['state']])[]> => {
    await record.database.query('UPDATE cost_budgets SET granted_usd = $1', [usd]);
    const { warned } = await returnSlices(record.database, record.newId);
    return warned.map(({ grantedUsd, state }) => [grantedUsd, state]);
  };
  assert.deepEqual(await lookAt('79'), []);
  assert.deepEqual(await lookAt('79.99'), []);
  assert.deepEqual(await lookAt('80'), [['80', 'warning']]);
  assert.deepEqual(await lookAt('81'), []);
});

test('what a provider may search is reserved: a budget that does not cover it refuses', async () => {
  // 1,000 tokens of output are 0.015 dollars, ten written to the cache 0.00006, a search is 0.01
  await setProjectBudget('0.1');
  const claim = await openTestSession(record);
  await assert.rejects(exchanges.begin(claim, 'claude-sonnet-4-6', 9), /used up its 0.1 US dollars/);
  await record.database.query('UPDATE sessions SET stop_reason = NULL WHERE id = $1', [claim.sessionId]);
  const usageId = await exchanges.begin(claim, 'claude-sonnet-4-6', 8);
  const [row] = await record.database.query<{ usd: string }>(
    'SELECT trim_scale(reserved_usd)::text AS usd FROM usage WHERE id = $1',
    [usageId],
  );
  assert.equal(row?.usd, '0.09506');
  await exchanges.settle(usageId, claim, 'claude-sonnet-4-6', { parts: [output(1_000)], webSearches: 8 });
});
