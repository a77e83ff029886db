import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { decideExtension } from '../budgets/decide-extension.ts';
import { listExtensions } from '../budgets/extension-row.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { endSession } from '../sessions/end-session.ts';
import { awaitMessage } from './await-message.ts';
import { finishConversation, finishIdle, sendMessage } from './send-message.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
const never = new AbortController().signal;
const next = (claim: AttemptClaim, seen = 0, waitMs = 0) =>
  awaitMessage(record, claim, { after: seen, waitMs }, never);
const say = (claim: AttemptClaim, text: string, who = opener) =>
  sendMessage(record, who, claim.sessionId, text);
const open = async (surface: 'terminal' | 'ide' | 'api', followUps = true, budgets: object = {}) => {
  const claim = await openTestSession(record, {
    interactive: true,
    policy: { tools: { read_file: 'allow' }, budgets },
  });
  await record.database.query('UPDATE sessions SET surface = $2, follow_ups = $3 WHERE id = $1', [
    claim.sessionId,
    surface,
    followUps,
  ]);
  return claim;
};
const read = (claim: AttemptClaim, callId: string) =>
  requestPermit(
    record,
    claim,
    {
      callId,
      turn: 1,
      tool: 'read_file',
      arguments: { path: 'a' },
      argumentsDigest: argumentsDigest({ path: 'a' }),
      waitMs: 0,
    },
    never,
  );
const row = async (claim: AttemptClaim) => {
  const [found] = await record.database.query<{
    reason: string | null;
    phase: string;
    actions_used: number;
    extensions_used: number;
    waited_ms: number;
  }>('SELECT reason, phase, actions_used, extensions_used, waited_ms FROM sessions WHERE id = $1', [
    claim.sessionId,
  ]);
  assert.ok(found);
  return found;
};

test('a session waits for its person, hears them at once, and a repeat hears the same', async () => {
  const claim = await open('api');
  assert.deepEqual(await next(claim), { kind: 'waiting' });
  assert.deepEqual([(await row(claim)).reason, (await row(claim)).phase], ['awaiting_message', 'waiting']);
  const held = next(claim, 0, 30_000);
  await say(claim, 'Go on.');
  assert.deepEqual(await held, { kind: 'message', number: 1, text: 'Go on.' });
  assert.deepEqual(await next(claim), { kind: 'message', number: 1, text: 'Go on.' });
  assert.deepEqual([(await row(claim)).reason, (await row(claim)).phase], [null, 'working']);
  const types = (await chainEntries(record, sessionChain(claim.sessionId))).map(({ type }) => type);
  assert.deepEqual(types, ['session.opened', 'session.paused', 'session.messaged']);
});

test('who speaks before the answer is heard after it, in order and within bounds', async () => {
  const claim = await open('api');
  for (let index = 1; index <= 20; index += 1) await say(claim, `m${index}`);
  await assert.rejects(say(claim, 'too many'), { code: 'conflict' });
  assert.deepEqual(await next(claim, 0), { kind: 'message', number: 1, text: 'm1' });
  assert.deepEqual(await next(claim, 19), { kind: 'message', number: 20, text: 'm20' });
});

test('its person finishes it, or stays away; nothing is heard after that', async () => {
  const claim = await open('api');
  await next(claim);
  await finishConversation(record, opener, claim.sessionId);
  assert.deepEqual(await next(claim), { kind: 'end', reason: 'finished' });
  await assert.rejects(say(claim, 'late'), { code: 'conflict' });
  const idle = await open('api');
  await next(idle);
  await record.database.query(`UPDATE session_messages SET expires_at = now() WHERE session_id = $1`, [
    idle.sessionId,
  ]);
  assert.equal(await finishIdle(record), 1);
  assert.deepEqual(await next(idle), { kind: 'end', reason: 'finished' });
});

test('strangers, sessions that do not stay and ended ones take no message', async () => {
  const claim = await open('api');
  await assert.rejects(say(claim, 'x', { ...opener, subject: 'eve' }), { code: 'forbidden' });
  await assert.rejects(say(await open('api', false), 'x'), { code: 'conflict' });
  await next(claim);
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: claim.sessionId, reason: 'stopped', message: '' }),
  );
  await assert.rejects(say(claim, 'x'), { code: 'session_ended' });
  await assert.rejects(next(claim), { code: 'attempt_stale' });
});

test('on the terminal each message starts the budget from zero', async () => {
  const claim = await open('terminal', true, { maxActions: 1 });
  assert.equal((await read(claim, 'c1')).verdict, 'go');
  assert.equal((await read(claim, 'c2')).verdict, 'waiting');
  await decideExtension(record, opener, claim.sessionId, { decision: 'extend', number: 1 });
  assert.equal((await read(claim, 'c2')).verdict, 'go');
  await next(claim);
  await say(claim, 'And now the other one.');
  const after = await row(claim);
  assert.deepEqual([after.actions_used, after.extensions_used], [0, 0]);
  assert.equal((await read(claim, 'c3')).verdict, 'go');
  assert.equal((await read(claim, 'c4')).verdict, 'waiting');
});

test('in an IDE a message grants the extension that is asked for; on the API it does not', async () => {
  const claim = await open('ide', false, { maxActions: 1 });
  await read(claim, 'c1');
  assert.equal((await read(claim, 'c2')).verdict, 'waiting');
  await assert.rejects(say(claim, 'x', { ...opener, kind: 'automation' }), { code: 'forbidden' });
  await say(claim, 'Go on.');
  const [extension] = await listExtensions(record.database, claim.sessionId);
  assert.equal(extension?.state, 'granted');
  assert.equal((await read(claim, 'c2')).verdict, 'go');
  assert.equal((await row(claim)).actions_used, 2);

  const api = await open('api', true, { maxActions: 1 });
  await read(api, 'c1');
  await read(api, 'c2');
  await say(api, 'Go on.');
  assert.equal((await listExtensions(record.database, api.sessionId))[0]?.state, 'waiting');
});
