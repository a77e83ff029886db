import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { listApprovals, listWaitingApprovals } from '../application/approvals/approval-row.ts';
import type { AttemptClaim } from '../application/events/live-attempt.ts';
import { requestPermit } from '../application/permits/request-permit.ts';
import { createTestRecord } from '../testing/traffic/record.ts';
import type { TestRecord } from '../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../testing/traffic/session.ts';
import { expireApprovals } from './approval-expiry.ts';
import { stopOverdue } from './budget-watch.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const ask = (claim: AttemptClaim, waitMs = 0) =>
  requestPermit(
    record,
    claim,
    {
      callId: 'c1',
      turn: 1,
      tool: 'read_file',
      arguments: { path: 'a' },
      argumentsDigest: argumentsDigest({ path: 'a' }),
      waitMs,
    },
    new AbortController().signal,
  );
const stateOf = async (claim: AttemptClaim) => {
  const [row] = await record.database.query<{
    state: string;
    reason: string | null;
    stop_reason: string | null;
  }>('SELECT state, reason, stop_reason FROM sessions WHERE id = $1', [claim.sessionId]);
  return row;
};
const beganMinutesAgo = (claim: AttemptClaim, minutes: number) =>
  record.database.query('UPDATE sessions SET running_at = now() - make_interval(mins => $2) WHERE id = $1', [
    claim.sessionId,
    minutes,
  ]);

test('overdue approvals expire by automation, others stay; a held permit hears of it', async () => {
  const overdue = await openTestSession(record, { interactive: true, policy: { approvalTtlSeconds: 1 } });
  const patient = await openTestSession(record, { interactive: true });
  await ask(patient);
  const held = ask(overdue, 20_000);
  while ((await listApprovals(record.database, overdue.sessionId))[0]?.state !== 'expired')
    await expireApprovals(record);
  const answer = await held;
  assert.ok(answer.verdict === 'rejected');
  assert.deepEqual([answer.decidedBy, answer.reason], ['automation', 'approval_expired']);
  const waiting = await listWaitingApprovals(record.database, null);
  assert.deepEqual(
    waiting.map((approval) => approval.sessionId),
    [patient.sessionId],
  );
  const entries = await chainEntries(record, sessionChain(overdue.sessionId));
  const decided = entries.find((entry) => entry.type === 'approval.decided');
  assert.equal(decided?.subject, record.self);
});

test('a session whose minutes are used up is told to stop, and ended when it does not follow', async () => {
  const fresh = await openTestSession(record);
  const overdue = await openTestSession(record);
  await beganMinutesAgo(overdue, 46);
  assert.equal(await stopOverdue(record), 1);
  assert.equal((await stateOf(fresh))?.stop_reason, null);
  assert.deepEqual(await stateOf(overdue), { state: 'running', reason: null, stop_reason: 'time_budget' });
  assert.equal(await stopOverdue(record), 0);
  await beganMinutesAgo(overdue, 51);
  assert.equal(await stopOverdue(record), 1);
  assert.deepEqual(await stateOf(overdue), {
    state: 'timeout',
    reason: 'time_budget',
    stop_reason: 'time_budget',
  });
});

test('waiting for a person uses up no minutes, also while the wait goes on', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await ask(claim);
  await beganMinutesAgo(claim, 120);
  await record.database.query(
    `UPDATE approvals SET created_at = now() - interval '100 minutes' WHERE session_id = $1`,
    [claim.sessionId],
  );
  assert.equal(await stopOverdue(record), 0);
  assert.equal((await ask(claim)).verdict, 'waiting');
  assert.equal((await stateOf(claim))?.stop_reason, null);
});
