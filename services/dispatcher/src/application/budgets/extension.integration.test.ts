import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { withoutRechecks } from '../../testing/without-rechecks.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { beginExchange } from '../gateway/begin-exchange.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { stopOverdue } from '../../jobs/budget-watch.ts';
import { endSession } from '../sessions/end-session.ts';
import { decideExtension, expireExtensions } from './decide-extension.ts';
import { listExtensions } from './extension-row.ts';
import { holdWhileExtendable } from './hold-exchange.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
/** To the first question. */
const yes = { decision: 'extend', number: 1 } as const;
const never = new AbortController().signal;
const ask = (claim: AttemptClaim, callId: string, waitMs = 0) =>
  requestPermit(
    record,
    claim,
    {
      callId,
      turn: 1,
      tool: 'read_file',
      arguments: { path: 'a' },
      argumentsDigest: argumentsDigest({ path: 'a' }),
      waitMs,
    },
    never,
  );
const policyOf = (budgets: object) => ({ tools: { read_file: 'allow' as const }, budgets });
const open = (budgets: object, interactive = true) =>
  openTestSession(record, { interactive, policy: policyOf(budgets) });
const row = async (claim: AttemptClaim) => {
  const [found] = await record.database.query<{
    phase: string;
    reason: string | null;
    stop_reason: string | null;
    extensions_used: number;
    waited_ms: number;
  }>('SELECT phase, reason, stop_reason, extensions_used, waited_ms FROM sessions WHERE id = $1', [
    claim.sessionId,
  ]);
  assert.ok(found);
  return found;
};
const aged = (claim: AttemptClaim, minutes: number) =>
  record.database.query(`UPDATE sessions SET running_at = now() - make_interval(mins => $2) WHERE id = $1`, [
    claim.sessionId,
    minutes,
  ]);

test(
  'an interactive session asks, says what was used and what comes, and goes on at once when extended',
  { timeout: 60_000 },
  async (t) => {
    const claim = await open({ maxActions: 1, maxExtensions: 2 });
    assert.equal((await ask(claim, 'c1')).verdict, 'go');
    // Its own look each second never comes: only the signal can answer.
    withoutRechecks(t);
    const held = ask(claim, 'c2', 30_000);
    let [question] = await listExtensions(record.database, claim.sessionId);
    while (question === undefined) [question] = await listExtensions(record.database, claim.sessionId);
    assert.equal(question.cause, 'budget_actions');
    assert.deepEqual([question.used.actions, question.grants], [1, { actions: 50, minutes: 15, left: 1 }]);
    assert.deepEqual(
      [(await row(claim)).phase, (await row(claim)).reason],
      ['waiting', 'awaiting_extension'],
    );
    await decideExtension(record, opener, claim.sessionId, yes);
    assert.equal((await held).verdict, 'go');
    const after = await row(claim);
    assert.deepEqual([after.phase, after.reason, after.extensions_used], ['working', null, 1]);
    assert.ok(after.waited_ms > 0);
    const types = (await chainEntries(record, sessionChain(claim.sessionId))).map(({ type }) => type);
    assert.deepEqual(
      types.filter((type) => type.startsWith('budget.')),
      ['budget.exhausted', 'budget.extended'],
    );
  },
);

test('when the extensions are used up too, it ends; counters count every action', async () => {
  const claim = await open({ maxActions: 1, maxExtensions: 1 });
  await ask(claim, 'c0');
  assert.equal((await ask(claim, 'c1')).verdict, 'waiting');
  await decideExtension(record, opener, claim.sessionId, yes);
  for (let index = 1; index <= 50; index += 1) assert.equal((await ask(claim, `c${index}`)).verdict, 'go');
  const answer = await ask(claim, 'c51');
  assert.ok(answer.verdict === 'stop');
  assert.equal(answer.reason, 'budget_actions');
});

test('a person who does not extend, nobody who answers, and a session that nobody follows: it ends', async () => {
  const declined = await open({ maxActions: 1 });
  await ask(declined, 'c1');
  await ask(declined, 'c2');
  await decideExtension(record, opener, declined.sessionId, { decision: 'end', number: 1 });
  const stop = await ask(declined, 'c2');
  assert.ok(stop.verdict === 'stop');
  assert.equal(stop.reason, 'budget_actions');
  await assert.rejects(decideExtension(record, opener, declined.sessionId, yes), { code: 'conflict' });

  const silent = await open({ maxActions: 1 });
  await ask(silent, 'c1');
  await ask(silent, 'c2');
  await record.database.query(`UPDATE budget_extensions SET expires_at = now() WHERE session_id = $1`, [
    silent.sessionId,
  ]);
  assert.equal(await expireExtensions(record), 1);
  assert.equal((await ask(silent, 'c2')).verdict, 'stop');
  const expiry = (await chainEntries(record, sessionChain(silent.sessionId))).at(-3);
  assert.deepEqual([expiry?.type, expiry?.body['decidedBy']], ['budget.declined', 'automation']);

  const alone = await open({ maxActions: 1 }, false);
  await ask(alone, 'c1');
  assert.equal((await ask(alone, 'c2')).verdict, 'stop');
});

test('a model exchange is held, not failed, over the minutes; what is waited does not count as work', async () => {
  const claim = await open({ maxMinutes: 10 });
  await aged(claim, 11);
  const held = holdWhileExtendable(record, claim);
  let [question] = await listExtensions(record.database, claim.sessionId);
  while (question === undefined) [question] = await listExtensions(record.database, claim.sessionId);
  assert.deepEqual([question.cause, question.used.minutes], ['time_budget', 11]);
  assert.equal(await stopOverdue(record), 0);
  await decideExtension(record, opener, claim.sessionId, yes);
  await held;
  await aged(claim, 26);
  assert.equal(await stopOverdue(record), 1, 'the watch asks, too');
  assert.equal((await row(claim)).stop_reason, null);
  await assert.rejects(
    Promise.race([
      holdWhileExtendable(record, claim),
      record.database
        .transaction((tx) =>
          endSession(record, tx, { sessionId: claim.sessionId, reason: 'stopped', message: '' }),
        )
        .then(() => holdWhileExtendable(record, claim)),
    ]),
    { code: 'attempt_stale' },
  );
  assert.deepEqual(
    (await listExtensions(record.database, claim.sessionId))
      .map(({ state }) => state)
      .filter((s) => s === 'waiting'),
    [],
  );
});

test('only the opener or an approver extends, in person, and of several answers one counts', async () => {
  const claim = await open({ maxActions: 1 });
  await ask(claim, 'c1');
  await ask(claim, 'c2');
  const answer = (who: Person) => decideExtension(record, who, claim.sessionId, yes);
  await assert.rejects(answer({ ...opener, subject: 'eve' }), { code: 'forbidden' });
  await assert.rejects(answer({ ...opener, kind: 'automation' }), { code: 'forbidden' });
  const answers = await Promise.allSettled([answer(opener), answer(opener), answer(opener)]);
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal((await row(claim)).extensions_used, 1);
});

test('an answer that comes once more never answers the next question', async () => {
  const claim = await open({ maxActions: 1, maxExtensions: 3 });
  await ask(claim, 'c0');
  assert.equal((await ask(claim, 'c1')).verdict, 'waiting');
  await decideExtension(record, opener, claim.sessionId, yes);
  for (let index = 1; index <= 50; index += 1) await ask(claim, `c${index}`);
  assert.equal((await ask(claim, 'c51')).verdict, 'waiting');
  await assert.rejects(decideExtension(record, opener, claim.sessionId, yes), (error: Error) => {
    assert.match(error.message, /asks its question 2 by now, not 1/);
    return isCodedError(error, 'version_conflict');
  });
  assert.equal((await row(claim)).extensions_used, 1);
  await decideExtension(record, opener, claim.sessionId, { ...yes, number: 2 });
  assert.equal((await row(claim)).extensions_used, 2);
});

test('a client’s tighter bounds count and looser ones do not', async () => {
  const claim = await open({ maxActions: 10 }, false);
  await record.database.query(
    `UPDATE sessions SET bounds = '{"maxActions": 1, "maxMinutes": 9999}' WHERE id = $1`,
    [claim.sessionId],
  );
  assert.equal((await ask(claim, 'c1')).verdict, 'go');
  assert.equal((await ask(claim, 'c2')).verdict, 'stop');
  const other = await open({ maxMinutes: 10 }, false);
  await record.database.query(`UPDATE sessions SET bounds = '{"maxMinutes": 9999}' WHERE id = $1`, [
    other.sessionId,
  ]);
  await aged(other, 11);
  assert.equal((await ask(other, 'c1')).verdict, 'stop');
});

test('on the terminal a session that ran out of actions has one more exchange, and no other surface has', async () => {
  const planned = {
    provider: 'scripted',
    prices: 'scripted',
    endpoint: 'anthropic-messages',
    fallbackFor: null,
    model: 'scripted-1',
    requestBytes: 10,
    webSearches: 0,
    maxTokens: 10,
    at: Date.now(),
  };
  const priceBook = readPinnedPriceBook();
  for (const [surface, last] of [
    ['terminal', true],
    ['api', false],
  ] as const) {
    const claim = await openTestSession(record, { surface, policy: policyOf({ maxActions: 1 }) });
    const begin = () => beginExchange({ ...record, priceBook, gatewayId: 'test' }, claim, planned);
    await begin();
    await ask(claim, 'c1');
    assert.equal((await ask(claim, 'c2')).verdict, 'stop');
    if (last) assert.match(await begin(), /^use_/);
    await assert.rejects(begin(), { code: 'budget_exhausted' });
    assert.equal((await ask(claim, 'c3')).verdict, 'stop', 'whatever the last words ask for');
  }
});

test('commands are counted by themselves: the next one stops the session, another tool does not', async () => {
  const policy = {
    tools: { read_file: 'allow' as const, run_command: 'allow' as const },
    freeCommands: ['ls'],
    budgets: { maxCommands: 1 },
  };
  const claim = await openTestSession(record, { interactive: true, policy });
  const run = (callId: string) => {
    const args = { command: 'ls' };
    const proposal = { callId, turn: 1, tool: 'run_command', arguments: args, waitMs: 0 };
    return requestPermit(record, claim, { ...proposal, argumentsDigest: argumentsDigest(args) }, never);
  };
  assert.equal((await run('c1')).verdict, 'go');
  assert.equal((await ask(claim, 'c2')).verdict, 'go');
  const answer = await run('c3');
  assert.ok(answer.verdict === 'stop');
  assert.equal(answer.reason, 'budget_commands');
});
