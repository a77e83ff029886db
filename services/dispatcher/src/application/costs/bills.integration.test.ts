import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { focusColumns } from '@lemniscate/shared/costs/focus.ts';
import { foldAll } from '../../testing/traffic/costs.ts';
import { createTestExchanges, output } from '../../testing/traffic/exchanges.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { exportFocus } from './export-costs.ts';
import { reconcileBill } from './reconcile-bill.ts';

const span = { from: '2000-01-01', to: '2100-01-01' };
const account = { id: 'acme', name: 'Acme' };
const today = new Date().toISOString().slice(0, 10);
let record: TestRecord;
let exchanges: ReturnType<typeof createTestExchanges>;
before(async () => {
  record = await createTestRecord();
  exchanges = createTestExchanges(record);
});
after(() => record.close());

/** The session's rows of the export, some of their columns. */
async function exported({ sessionId }: AttemptClaim, ...columns: readonly string[]): Promise<string[][]> {
  await foldAll(record.database);
  const rows: string[][] = [];
  for await (const line of exportFocus(record.database, span, account)) {
    if (!line.includes(sessionId)) continue;
    // only the tags have quotes and commas, and they are not among the columns that are asked for
    const cells = line
      .trimEnd()
      .replaceAll(/"(?:[^"]|"")*"/g, '')
      .split(',');
    rows.push(columns.map((name) => cells[focusColumns.findIndex((one) => one.name === name)] ?? ''));
  }
  return rows;
}

test('searches are exported by their number, whether or not they cost something', async () => {
  const claim = await openTestSession(record);
  await exchanges.spend(claim, 'claude-sonnet-4-6', { parts: [output(1_000)], webSearches: 3 });
  await exchanges.spend(claim, 'claude-sonnet-4-6', { parts: [output(1_000)], webSearches: 2 });
  assert.deepEqual(
    await exported(
      claim,
      'x_TokenBucket',
      'BilledCost',
      'ConsumedQuantity',
      'ConsumedUnit',
      'PricingQuantity',
    ),
    [
      ['output', '0.03', '2000', 'Tokens', '0.002'],
      ['other', '0.05', '5', 'Requests', '0.005'],
    ],
  );
});

test('what has no price leaves as unpriced and not as complete', async () => {
  const claim = await openTestSession(record);
  await exchanges.spend(claim, 'claude-sonnet-4-5', { tier: { region: 'mars' } });
  assert.deepEqual(await exported(claim, 'BilledCost', 'ConsumedQuantity', 'x_Complete', 'x_Unpriced'), [
    ['0', '1000000', 'false', 'true'],
  ]);
  const priced = await openTestSession(record);
  await exchanges.spend(priced, 'claude-sonnet-4-5', {});
  assert.deepEqual(await exported(priced, 'BilledCost', 'x_Complete', 'x_Unpriced'), [
    ['15', 'true', 'false'],
  ]);
});

test('a bill that names the model that served is laid beside what was asked by another name', async () => {
  const claim = await openTestSession(record);
  await exchanges.spend(claim, 'claude-haiku-4-5', { servedModel: 'claude-haiku-4-5-20251001' });
  await foldAll(record.database);
  const lineOf = async (model: string, costUsd: string) => {
    const lines = await reconcileBill(record.database, [
      { day: today, provider: 'anthropic', model, costUsd },
    ]);
    return lines
      .filter((line) => line.model.startsWith('claude-haiku'))
      .map(({ model: name, billedUsd, recordedUsd, differenceUsd }) => [
        name,
        billedUsd,
        recordedUsd,
        differenceUsd,
      ]);
  };
  assert.deepEqual(await lineOf('claude-haiku-4-5-20251001', '5'), [
    ['claude-haiku-4-5-20251001', '5', '5', '0'],
  ]);
  // a bill can also have the name that was asked
  assert.deepEqual(await lineOf('claude-haiku-4-5', '6'), [['claude-haiku-4-5', '6', '5', '1']]);
});
