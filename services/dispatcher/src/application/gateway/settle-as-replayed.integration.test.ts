import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { replayCall } from '@lemniscate/shared/model/replay.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { foldAll } from '../../testing/traffic/costs.ts';
import { createTestExchanges } from '../../testing/traffic/exchanges.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { reportCosts } from '../costs/report-costs.ts';
import { createAnswerMeter } from './answer-meter.ts';
import { settleExchange } from './settle-exchange.ts';

const priceBook = readPinnedPriceBook();
const model = 'claude-sonnet-4-6';
let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const event = (data: { readonly type: string } & object): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const answerOf = (id: string, toolUse: object, more: object = {}): string[] => [
  event({
    type: 'message_start',
    message: { id, model, usage: { input_tokens: 100, output_tokens: 1 } },
  } as never),
  event({
    type: 'message_delta',
    usage: { output_tokens: 20, server_tool_use: toolUse, ...more },
  } as never),
  event({ type: 'message_stop' }),
];

const cases: readonly (readonly [string, readonly string[], { complete: boolean; lowerBound: boolean }])[] = [
  ['whole', answerOf('msg_whole', {}), { complete: true, lowerBound: false }],
  [
    'whole, with a fee that has a price',
    answerOf('msg_searched', { web_search_requests: 2 }),
    { complete: true, lowerBound: false },
  ],
  [
    'whole, with a fee that has none',
    answerOf('msg_ran', { code_execution_requests: 1 }),
    { complete: true, lowerBound: true },
  ],
  ['cut', answerOf('msg_cut', {}).slice(0, 1), { complete: false, lowerBound: true }],
  [
    'without any price, which is no lower bound',
    answerOf('msg_mars', { code_execution_requests: 1 }, { inference_geo: 'mars' }),
    { complete: true, lowerBound: false },
  ],
];
for (const [how, stream, is] of cases)
  test(`an exchange is settled as its replay says: ${how}`, async () => {
    const claim = await openTestSession(record, { model });
    const at = Date.now();
    const usageId = await createTestExchanges(record).begin(claim, model);
    const meter = createAnswerMeter('anthropic-messages', 'text/event-stream');
    for (const text of stream) meter.push(Buffer.from(text));
    const facts = { provider: 'anthropic', prices: 'anthropic', model, fallbackFor: null, at };
    await settleExchange({ ...record, priceBook }, { ...facts, usageId, claim, ...meter.end() });

    const call = { id: usageId, provider: 'anthropic', api: 'messages', model, stream: [...stream] };
    const replayed = replayCall({ ...call, at: new Date(at).toISOString() }, priceBook);
    assert.deepEqual({ complete: replayed.complete, lowerBound: replayed.costIsLowerBound }, is);
    const [row] = await record.database.query(
      `SELECT complete, cost_is_lower_bound AS "lowerBound", trim_scale(cost_usd)::text AS usd FROM usage WHERE id = $1`,
      [usageId],
    );
    assert.deepEqual(row, { ...is, usd: replayed.costUsd });
    const entry = (await chainEntries(record, sessionChain(claim.sessionId))).at(-1);
    assert.deepEqual(
      [entry?.body['complete'], entry?.body['costIsLowerBound']],
      [is.complete, is.lowerBound],
    );
    await foldAll(record.database);
    const span = { from: '2000-01-01', to: '2100-01-01' };
    const { rows } = await reportCosts(record.database, 'session', span, 1_000);
    const reported = rows.find(({ group }) => group === claim.sessionId);
    assert.equal(reported?.incomplete, Number(is.lowerBound));
  });
