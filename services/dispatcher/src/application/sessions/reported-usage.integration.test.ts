import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noTokens } from '@lemniscate/shared/model/usage.ts';
import { createTestExchanges } from '../../testing/traffic/exchanges.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import { compareUsage } from './reported-usage.ts';
import { selectSessionViews } from './session-view.ts';

const metered = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 40 };

test('a program that said nothing is not compared', () => {
  assert.equal(compareUsage(metered, null), null);
});

test('each difference is what the gateway metered beyond the program’s word, or short of it', () => {
  const said = { input: 9, output: 25, read: 30, write: 0, cost: '0.5' };
  assert.deepEqual(compareUsage(metered, said), {
    inputTokens: 9,
    outputTokens: 25,
    cacheReadTokens: 30,
    cacheWriteTokens: 0,
    costUsd: '0.5',
    difference: { inputTokens: 1, outputTokens: -5, cacheReadTokens: 0, cacheWriteTokens: 40 },
  });
});

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

test('a session whose program counts wrongly shows by how much, and the meter is what counts', async () => {
  const claim = await openTestSession(record);
  const tokens = { ...noTokens, inputTokens: 100, outputTokens: 50, cacheReadTokens: 7, cacheWriteTokens: 3 };
  const parts = [{ model: null, tokens }];
  await createTestExchanges(record).spend(claim, 'claude-sonnet-4-6', { parts });
  await ingestBatch(record, claim, {
    firstSeq: 1,
    events: [
      {
        at: new Date().toISOString(),
        event: {
          type: 'reported_usage',
          inputTokens: 90,
          outputTokens: 60,
          cacheReadTokens: 7,
          cacheWriteTokens: 0,
          costUsd: '0.9',
        },
      },
    ],
  });
  const [view] = await record.database.transaction((tx) =>
    selectSessionViews(tx, { where: 'id = $1', values: [claim.sessionId], limit: 1 }),
  );
  assert.deepEqual(view?.reportedUsage, {
    inputTokens: 90,
    outputTokens: 60,
    cacheReadTokens: 7,
    cacheWriteTokens: 0,
    costUsd: '0.9',
    difference: { inputTokens: 10, outputTokens: -10, cacheReadTokens: 0, cacheWriteTokens: 3 },
  });
  // 100 × 3 + 50 × 15 + 7 × 0.3 + 3 × 3.75 dollars for a million tokens
  assert.equal(view.totalCostUsd, '0.00106335');
  assert.equal(view.usage.outputTokens, 50);
});
