import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { failOver } from '../../testing/traffic/fail-over.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { interruptTurn } from '../messages/interrupt-turn.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { listApprovals } from './approval-row.ts';
import { decideApproval } from './decide-approval.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const ask = async (
  claim: AttemptClaim,
  turn: number,
  callId: string,
  tool: string,
  path: string,
  waitMs = 0,
) => {
  const body = {
    callId,
    turn,
    tool,
    arguments: { path },
    argumentsDigest: argumentsDigest({ path }),
    waitMs,
  };
  return (await requestPermit(record, claim, body, new AbortController().signal)).verdict;
};
const open = () => openTestSession(record, { interactive: true, policy: { tools: { read_file: 'allow' } } });
const states = async (claim: AttemptClaim) =>
  (await listApprovals(record.database, claim.sessionId)).map(({ callId, state }) => `${callId} ${state}`);
/** Everything that has happened did so two hours earlier. */
const twoHoursLater = async (claim: AttemptClaim) => {
  for (const change of [
    `UPDATE approvals SET created_at = created_at - interval '2 hours' WHERE session_id = $1`,
    `UPDATE attempts SET ended_at = ended_at - interval '2 hours' WHERE session_id = $1`,
    `UPDATE session_pauses SET since = since - interval '2 hours', until = until - interval '2 hours' WHERE session_id = $1`,
  ])
    await record.database.query(change, [claim.sessionId]);
};
const waitedMinutes = async (claim: AttemptClaim) =>
  Math.round((await readWaitedMs(record.database, claim.sessionId)) / 60_000);

test('what a lost attempt has asked does not stop the minutes of the next, and is withdrawn in its second turn', async () => {
  const first = await open();
  assert.equal(await ask(first, 1, 'c1', 'list_files', 'src'), 'waiting');
  const second = await failOver(record, first);
  assert.equal(await ask(second, 1, 'd1', 'read_file', 'a'), 'go');
  assert.deepEqual(await states(first), ['c1 waiting'], 'its turn may still ask for the same');
  await twoHoursLater(first);
  assert.equal(await waitedMinutes(first), 0);
  assert.equal(await ask(second, 2, 'd2', 'read_file', 'b'), 'go');
  assert.deepEqual(await states(first), ['c1 withdrawn']);
  assert.equal(await waitedMinutes(first), 0);
});

test('what the next attempt asks too goes on waiting and stops its minutes, under a new id and under the same', async () => {
  for (const again of ['d2', 'c1']) {
    const first = await open();
    assert.equal(await ask(first, 3, 'c1', 'list_files', 'src'), 'waiting');
    const second = await failOver(record, first);
    assert.equal(await ask(second, 3, 'd1', 'read_file', 'a'), 'go');
    assert.equal(await ask(second, 3, again, 'list_files', 'src'), 'waiting');
    assert.equal(await ask(second, 4, 'd3', 'read_file', 'b'), 'go');
    assert.deepEqual(await states(first), [`${again} waiting`]);
    await twoHoursLater(first);
    await record.database.query(
      `UPDATE sessions SET running_at = running_at - interval '2 hours' WHERE id = $1`,
      [first.sessionId],
    );
    assert.equal(await waitedMinutes(first), 120);
  }
});

const person: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };

test('a call whose question was withdrawn is asked about anew, and nobody has rejected it', async () => {
  const first = await open();
  assert.equal(await ask(first, 1, 'c1', 'list_files', 'src'), 'waiting');
  const second = await failOver(record, first);
  assert.equal(await ask(second, 1, 'd1', 'read_file', 'a'), 'go');
  assert.equal(await ask(second, 2, 'd2', 'read_file', 'b'), 'go');
  assert.equal(await ask(second, 3, 'c1', 'list_files', 'src'), 'waiting');
  assert.deepEqual(await states(first), ['c1 withdrawn', 'c1 waiting']);
  const [, again] = await listApprovals(record.database, first.sessionId);
  assert.ok(again !== undefined);
  const { argumentsDigest: shown } = again;
  await decideApproval(record, person, first.sessionId, again.id, {
    decision: 'approve',
    argumentsDigest: shown,
  });
  assert.equal(await ask(second, 3, 'c1', 'list_files', 'src'), 'go');
});

test('an interrupt that a held call has not heard of yet leaves no decision about it on record', async () => {
  const claim = await open();
  const held = ask(claim, 1, 'c1', 'list_files', 'src', 1500);
  const asked = performance.now();
  while ((await states(claim)).length === 0) assert.ok(performance.now() - asked < 30_000, 'it asks');
  const servers = { interrupt: () => Promise.resolve(), destroy: () => undefined };
  await interruptTurn({ ...record, servers }, person, claim.sessionId);
  assert.equal(await held, 'waiting');
  assert.deepEqual(await states(claim), ['c1 withdrawn']);
  const [call] = await record.database.query(
    'SELECT state, decided_by, answer FROM tool_calls WHERE session_id = $1',
    [claim.sessionId],
  );
  assert.deepEqual(call, { state: 'generated', decided_by: null, answer: null });
  const types = (await chainEntries(record, sessionChain(claim.sessionId))).map(({ type }) => type);
  assert.ok(types.includes('session.interrupted') && !types.includes('tool.decided'));
});
