import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { beginExchange } from '../gateway/begin-exchange.ts';
import { worstCaseTokens } from '@lemniscate/shared/budget/worst-case.ts';
import { requestPermit } from '../permits/request-permit.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const gone = new AbortController().signal;
const permit = (claim: AttemptClaim, tool: string, args: Record<string, string>, callId: string) =>
  requestPermit(
    record,
    claim,
    { callId, turn: 1, tool, arguments: args, argumentsDigest: argumentsDigest(args), waitMs: 0 },
    gone,
  );
const many = Array.from({ length: 20 }, (_, index) => index);

test('twenty calls at once take as many actions and run as many commands as there are, and no more', async () => {
  const tools = { read_file: 'allow', run_command: 'allow' } as const;
  const actions = await openTestSession(record, { policy: { tools, budgets: { maxActions: 7 } } });
  const read = await Promise.all(many.map((n) => permit(actions, 'read_file', { path: `f${n}` }, `c${n}`)));
  assert.equal(read.filter(({ verdict }) => verdict === 'go').length, 7);
  assert.ok(
    read.every((one) => one.verdict === 'go' || (one.verdict === 'stop' && one.reason === 'budget_actions')),
  );

  const commands = await openTestSession(record, {
    policy: { tools, freeCommands: ['ls'], budgets: { maxCommands: 5 } },
  });
  const ran = await Promise.all(
    many.map((n) => permit(commands, 'run_command', { command: `ls ${n}` }, `c${n}`)),
  );
  assert.equal(ran.filter(({ verdict }) => verdict === 'go').length, 5);
});

test('exchanges at once are begun only as far as their worst cases fit; the others wait and nothing is stopped', async () => {
  const planned = {
    provider: 'anthropic',
    prices: 'anthropic',
    model: 'claude-sonnet-4-5',
    endpoint: 'messages',
    fallbackFor: null,
    requestBytes: 900,
    webSearches: 0,
    maxTokens: 100,
    at: Date.now(),
  };
  assert.equal(worstCaseTokens(planned), 1_000);
  const deps = { ...record, gatewayId: 'g', priceBook: readPinnedPriceBook() };
  const begin = (claim: AttemptClaim) =>
    beginExchange(deps, claim, planned).then(
      () => 'begun',
      (error: unknown) => (isCodedError(error) ? error.code : 'broken'),
    );
  for (const [budgets, fits] of [
    [{ maxTokens: 3_500 }, 3],
    // 900 bytes written to the one-hour cache and 100 tokens answered: 0.0069 dollars
    [{ maxCostUsd: '0.0280' }, 4],
  ] as const) {
    const claim = await openTestSession(record, { model: planned.model, policy: { budgets } });
    const begun = await Promise.all(many.map(() => begin(claim)));
    assert.deepEqual(
      begun.toSorted(),
      [...Array<string>(fits).fill('begun'), ...Array<string>(20 - fits).fill('unavailable')],
      JSON.stringify(budgets),
    );
    const [row] = await record.database.query('SELECT stop_reason FROM sessions WHERE id = $1', [
      claim.sessionId,
    ]);
    assert.equal(row?.['stop_reason'], null);
  }
});
