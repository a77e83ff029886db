import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { readGivenPriceBook } from '@lemniscate/shared/model/given-price-book.ts';
import { overlayBook } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { foldAll } from '../../testing/traffic/costs.ts';
import { createTestExchanges, output } from '../../testing/traffic/exchanges.ts';
import type { Served } from '../../testing/traffic/exchanges.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { rollUp } from '../delegation/roll-up.ts';
import { readTotals } from '../gateway/usage-totals.ts';
import { correctCosts } from './correct-costs.ts';
import { reportCosts } from './report-costs.ts';

const span = { from: '2000-01-01', to: '2100-01-01' };
const priceBook = readPinnedPriceBook();
let record: TestRecord;
let exchanges: ReturnType<typeof createTestExchanges>;
before(async () => {
  record = await createTestRecord();
  exchanges = createTestExchanges(record);
});
after(() => record.close());

const correct = (model: string, book: PriceBook = priceBook) =>
  record.database.transaction((tx) =>
    correctCosts(tx, { provider: 'anthropic', model, ...span, reason: 'a test' }, book),
  );
const given = (models: object, more: object = {}): PriceBook =>
  overlayBook(priceBook, readGivenPriceBook({ models, ...more }, 'anthropic'));

/** The session in the report, and by its own totals. */
async function costOf({ sessionId }: AttemptClaim) {
  await foldAll(record.database);
  const { rows } = await reportCosts(record.database, 'session', span, 1_000);
  const row = rows.find(({ group }) => group === sessionId);
  const totals = await record.database.transaction((tx) => readTotals(tx, sessionId));
  return { report: row?.totalUsd, unpriced: row?.unpriced, session: totals.cost_usd, priced: totals.priced };
}

/** The cost in the report and how many of its exchanges are lower bounds, and what the row says of itself. */
async function boundOf({ sessionId }: AttemptClaim, usageId: string) {
  await foldAll(record.database);
  const { rows } = await reportCosts(record.database, 'session', span, 1_000);
  const row = rows.find(({ group }) => group === sessionId);
  const [kept] = await record.database.query(
    'SELECT complete, cost_is_lower_bound FROM usage WHERE id = $1',
    [usageId],
  );
  return [row?.totalUsd, row?.incomplete, kept?.['complete'], kept?.['cost_is_lower_bound']];
}

const served: readonly (readonly [string, string, string, Served])[] = [
  ['as it was asked', 'claude-sonnet-4-6', '15', {}],
  ['in one region', 'claude-sonnet-5', '11', { tier: { region: 'us' } }],
  ['fast', 'claude-opus-4-8', '50', { tier: { speed: 'fast' } }],
  ['in a batch', 'claude-opus-4-6', '12.5', { tier: { serviceTier: 'batch' } }],
  ['by another model', 'claude-opus-5', '5', { servedModel: 'claude-haiku-4-5-20251001' }],
  // 25 and 5 dollars for a million
  [
    'in parts',
    'claude-opus-4-5',
    '30',
    { parts: [output(1_000_000), output(1_000_000, 'claude-haiku-4-5')] },
  ],
  ['with searches', 'claude-opus-4-7', '25.03', { webSearches: 3 }],
];
for (const [how, model, usd, as] of served)
  test(`the book that priced it corrects nothing of an exchange that was served ${how}`, async () => {
    const claim = await openTestSession(record);
    await exchanges.spend(claim, model, as);
    const right = { report: usd, unpriced: 0, session: usd, priced: true };
    assert.deepEqual(await costOf(claim), right);
    assert.deepEqual(await correct(model), { corrected: 0, differenceUsd: '0', leftOut: 0 });
    assert.deepEqual(await costOf(claim), right);
  });

/** Served under a condition that no book prices. */
const elsewhere: Served = { tier: { region: 'mars' } };
/** What prices it: the region as it is, the models as they are. */
const withMars = given({}, { asOf: '2026-11-30', modifiers: [{ name: 'region=mars', factor: '2' }] });

test('a part of another price is corrected by itself', async () => {
  const claim = await openTestSession(record);
  await exchanges.spend(claim, 'claude-opus-4-5', {
    parts: [output(1_000_000), output(1_000_000, 'claude-haiku-4-5')],
  });
  const dearer = given({ 'claude-haiku-4-5': { perMTok: { input: 1, output: 6 } } });
  const { differenceUsd } = await correct('claude-opus-4-5', dearer);
  // the other test's session as well
  assert.equal(differenceUsd, '2');
  assert.deepEqual(await costOf(claim), { report: '31', unpriced: 0, session: '31', priced: true });
  await correct('claude-opus-4-5');
  assert.deepEqual(await costOf(claim), { report: '30', unpriced: 0, session: '30', priced: true });
});

test('what a dispatcher of the version before settled is left as it is, and counted', async () => {
  const claim = await openTestSession(record);
  const usageId = await exchanges.spend(claim, 'claude-haiku-4-5', { tier: { region: 'us' } });
  const fast = await exchanges.spend(claim, 'claude-haiku-4-5', {});
  await record.database.query('UPDATE usage SET served = NULL, served_model = NULL WHERE id = ANY ($1)', [
    [usageId, fast],
  ]);
  const before = await costOf(claim);
  assert.deepEqual(await correct('claude-haiku-4-5'), { corrected: 0, differenceUsd: '0', leftOut: 2 });
  assert.deepEqual(await costOf(claim), before);
});

test('what was cut and became known without a price is unpriced, once; and with one it is not any more', async () => {
  const model = 'claude-sonnet-4-5';
  const claim = await openTestSession(record);
  const usageId = await exchanges.begin(claim, model);
  await exchanges.settle(usageId, claim, model, null);
  assert.equal((await costOf(claim)).unpriced, 0);
  await exchanges.settle(usageId, claim, model, elsewhere);
  assert.deepEqual(await costOf(claim), { report: '0', unpriced: 1, session: '0', priced: false });

  const other = await openTestSession(record);
  const unknown = await exchanges.begin(other, 'claude-unknown-1');
  await exchanges.settle(unknown, other, 'claude-unknown-1', null);
  assert.equal((await costOf(other)).unpriced, 1);
  // the answer says that another model served, which has a price
  await exchanges.settle(unknown, other, 'claude-unknown-1', { servedModel: model });
  assert.deepEqual(await costOf(other), { report: '15', unpriced: 0, session: '15', priced: true });
});

test('a fee without a price leaves a lower bound until a correction prices it, and again where its price is gone', async () => {
  const model = 'claude-opus-4-1';
  const claim = await openTestSession(record);
  const usageId = await exchanges.spend(claim, model, { parts: [output(1_000_000)], fileSearches: 2 });
  assert.deepEqual(await boundOf(claim, usageId), ['75', 1, true, true]);
  assert.deepEqual(await correct(model), { corrected: 0, differenceUsd: '0', leftOut: 0 });
  const priced = given({ [model]: { perMTok: { input: 15, output: 75 }, fileSearchPerThousand: 2.5 } });
  assert.deepEqual(await correct(model, priced), { corrected: 1, differenceUsd: '0.005', leftOut: 0 });
  assert.deepEqual(await boundOf(claim, usageId), ['75.005', 0, true, false]);
  assert.deepEqual(await correct(model), { corrected: 1, differenceUsd: '-0.005', leftOut: 0 });
  assert.deepEqual(await boundOf(claim, usageId), ['75', 1, true, true]);
});

test('a correction that changes no money still tells that a fee has no price any more', async () => {
  const model = 'claude-opus-4-0';
  const free = given({ [model]: { perMTok: { input: 15, output: 75 }, fileSearchPerThousand: 0 } });
  const claim = await openTestSession(record);
  const asked = { parts: [output(1_000_000)], fileSearches: 2 };
  const usageId = await createTestExchanges(record, free).spend(claim, model, asked);
  assert.deepEqual(await boundOf(claim, usageId), ['75', 0, true, false]);
  assert.deepEqual(await correct(model), { corrected: 1, differenceUsd: '0', leftOut: 0 });
  assert.deepEqual(await boundOf(claim, usageId), ['75', 1, true, true]);
});

test('a word that a version before left behind is corrected, though no money changes', async () => {
  const model = 'claude-opus-4-1';
  const claim = await openTestSession(record);
  const usageId = await exchanges.spend(claim, model, { parts: [output(1_000_000)] });
  // That version settled a row whole that this one had cut, and does not know the column.
  await record.database.query('UPDATE usage SET cost_is_lower_bound = true WHERE id = $1', [usageId]);
  await correct(model);
  assert.deepEqual((await boundOf(claim, usageId)).slice(1), [0, true, false]);
});

test('a correction reaches the session: what had no price counts against its bound, and it may go on', async () => {
  const model = 'claude-sonnet-5';
  const claim = await openTestSession(record, { policy: { budgets: { maxCostUsd: '50' } } });
  await exchanges.spend(claim, model, elsewhere);
  await assert.rejects(exchanges.begin(claim, model), /the model has no price/);
  await record.database.query('UPDATE sessions SET stop_reason = NULL WHERE id = $1', [claim.sessionId]);
  const { corrected } = await correct(model, withMars);
  assert.equal(corrected, 1);
  assert.deepEqual(await costOf(claim), { report: '20', unpriced: 0, session: '20', priced: true });
  await exchanges.spend(claim, model, {});
  // 20 + 10 + 30 are more than the 50
  await exchanges.spend(claim, model, { parts: [output(3_000_000)] });
  await assert.rejects(exchanges.begin(claim, model), /used up its 50 US dollars/);
});

test('a project’s own prices hold for its exchanges, and correct nothing of them', async () => {
  const model = 'claude-sonnet-4-6';
  const own = { ...given({ [model]: { perMTok: { input: 2, output: 12 } } }), version: 'own' };
  const book = { ...priceBook, projects: new Map([['local', own]]) };
  const claim = await openTestSession(record);
  const usageId = await createTestExchanges(record, book).spend(claim, model, {});
  assert.equal((await costOf(claim)).report, '12');
  const rows = await record.database.query('SELECT price_book FROM usage WHERE id = $1', [usageId]);
  assert.deepEqual(rows, [{ price_book: 'own' }]);
  const { differenceUsd } = await correct(model, book);
  // the session that was priced without them
  assert.equal(differenceUsd, '-3');
  assert.equal((await costOf(claim)).report, '12');
});

test('a correction of a sub-agent reaches those above it that have counted its cost already', async () => {
  const model = 'claude-opus-4-6';
  const [top, middle, child] = [
    await openTestSession(record),
    await openTestSession(record),
    await openTestSession(record),
  ];
  await exchanges.spend(child, model, {});
  const heldBy = async ({ sessionId }: AttemptClaim): Promise<string> =>
    (await record.database.transaction((tx) => readTotals(tx, sessionId))).held_usd;
  for (const [sub, parent] of [
    [child, middle],
    [middle, top],
  ] as const) {
    // It has ended: a live one would hold its whole budget.
    await record.database.query(
      `UPDATE sessions SET parent_id = $2, state = 'completed', phase = 'ended' WHERE id = $1`,
      [sub.sessionId, parent.sessionId],
    );
    await record.database.transaction((tx) => rollUp(tx, parent.sessionId, sub.sessionId));
  }
  assert.deepEqual([await heldBy(middle), await heldBy(top)], ['25', '25']);
  await correct(model, given({ [model]: { perMTok: { input: 5, output: 30 } } }));
  assert.deepEqual([await heldBy(middle), await heldBy(top)], ['30', '30']);
  // of a session that nobody has counted yet only its own rows say it
  const alone = await openTestSession(record);
  await exchanges.spend(alone, model, {});
  await correct(model);
  assert.deepEqual([await heldBy(top), await heldBy(alone)], ['25', '25']);
});
