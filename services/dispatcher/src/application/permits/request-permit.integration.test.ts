import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { withoutRechecks } from '../../testing/without-rechecks.ts';
import { listApprovals } from '../approvals/approval-row.ts';
import { decideApproval, expireApproval } from '../approvals/decide-approval.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { endSession } from '../sessions/end-session.ts';
import { requestPermit } from './request-permit.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const never = new AbortController().signal;
const ada: Person = { subject: 'ada', name: 'Ada', kind: 'human', roles: ['approver'] };
const free: PolicyInput = { tools: { read_file: 'allow' } };
const proposal = (callId: string, path = 'a.txt', waitMs = 0): unknown => ({
  callId,
  turn: 1,
  tool: 'read_file',
  arguments: { path },
  argumentsDigest: argumentsDigest({ path }),
  waitMs,
});
const ask = (claim: AttemptClaim, body: unknown) => requestPermit(record, claim, body, never);
const types = async (claim: AttemptClaim): Promise<string[]> =>
  (await chainEntries(record, sessionChain(claim.sessionId))).map((entry) => entry.type);
const counters = async (claim: AttemptClaim) => {
  const [row] = await record.database.query<{ actions_used: number; waited_ms: number; phase: string }>(
    'SELECT actions_used, waited_ms, phase FROM sessions WHERE id = $1',
    [claim.sessionId],
  );
  assert.ok(row);
  return row;
};
const stop = (claim: AttemptClaim): Promise<void> =>
  record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: claim.sessionId, reason: 'stopped', message: 'stopped' }),
  );

test('a free call goes at once, is written once, and a repeat gets the same answer and uses no action', async () => {
  const claim = await openTestSession(record, { policy: free });
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask(claim, proposal('c1'))));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.equal(answers[0]?.verdict, 'go');
  assert.equal((await counters(claim)).actions_used, 1);
  assert.deepEqual(await types(claim), ['session.opened', 'tool.proposed', 'tool.decided']);
  await assert.rejects(ask(claim, proposal('c1', 'b.txt')), { code: 'conflict' });
});

test('a permit is for one execution: once the call has begun, by its server’s own word, there is none', async () => {
  for (const began of ['calling', 'done', 'errored', 'canceled'] as const) {
    const claim = await openTestSession(record, { policy: free });
    assert.equal((await ask(claim, proposal('c1'))).verdict, 'go');
    assert.equal((await ask(claim, proposal('c1'))).verdict, 'go', 'an answer that was lost is had again');
    const event = { type: 'tool_call', callId: 'c1', turn: 1, tool: 'read_file', state: began };
    const batch = { firstSeq: 1, events: [{ at: new Date().toISOString(), event }] };
    await ingestBatch(record, claim, batch);
    const both = await Promise.allSettled([ask(claim, proposal('c1')), ask(claim, proposal('c1'))]);
    for (const result of both)
      assert.ok(result.status === 'rejected' && isCodedError(result.reason, 'conflict'), began);
    assert.equal((await counters(claim)).actions_used, 1);
  }
});

test('what a permit is given for has its decision in the record itself', async () => {
  const claim = await openTestSession(record, { policy: free });
  await ask(claim, proposal('c1'));
  const undecided = (set: string) =>
    record.database.query(`UPDATE tool_calls SET ${set} WHERE session_id = $1`, [claim.sessionId]);
  await assert.rejects(undecided('decided_by = NULL'), /tool_calls_decided/);
  await assert.rejects(undecided(`decided_by = 'nobody'`), /decided_by/);
  const asked = await openTestSession(record, { interactive: true });
  await ask(asked, proposal('c1'));
  const settled = record.database.query(`UPDATE approvals SET state = 'approved' WHERE session_id = $1`, [
    asked.sessionId,
  ]);
  await assert.rejects(settled, /approvals_decided/);
});

test('nothing is permitted to a foreign or past attempt', async () => {
  const claim = await openTestSession(record, { policy: free });
  await assert.rejects(ask({ ...claim, serverId: 'server-b' }, proposal('c1')), { code: 'attempt_stale' });
  await assert.rejects(ask({ ...claim, attempt: 7 }, proposal('c1')), { code: 'attempt_stale' });
  await stop(claim);
  await assert.rejects(ask(claim, proposal('c1')), { code: 'attempt_stale' });
});

test('the action budget stops the session and stays stopped', async () => {
  const claim = await openTestSession(record, { policy: { ...free, budgets: { maxActions: 2 } } });
  assert.equal((await ask(claim, proposal('c1'))).verdict, 'go');
  assert.equal((await ask(claim, proposal('c2'))).verdict, 'go');
  const answer = await ask(claim, proposal('c3'));
  assert.ok(answer.verdict === 'stop');
  assert.equal(answer.reason, 'budget_actions');
  assert.equal((await ask(claim, proposal('c4'))).verdict, 'stop');
  assert.equal((await counters(claim)).actions_used, 2);
});

test(
  'an ask waits, a person says yes, and the held request is answered at once',
  { timeout: 60_000 },
  async (t) => {
    const claim = await openTestSession(record, { interactive: true });
    assert.equal((await ask(claim, proposal('c1'))).verdict, 'waiting');
    assert.equal((await counters(claim)).phase, 'waiting');
    // Its own look each second never comes: only the signal can answer.
    withoutRechecks(t);
    const held = ask(claim, proposal('c1', 'a.txt', 30_000));
    const [approval] = await listApprovals(record.database, claim.sessionId);
    assert.ok(approval);
    await decideApproval(record, ada, claim.sessionId, approval.id, {
      decision: 'approve',
      argumentsDigest: approval.argumentsDigest,
    });
    const answer = await held;
    assert.ok(answer.verdict === 'go');
    assert.equal(answer.decidedBy, 'human');
    const after = await counters(claim);
    assert.equal(after.actions_used, 1);
    assert.equal(after.phase, 'working');
    assert.ok(after.waited_ms > 0);
    const entries = await chainEntries(record, sessionChain(claim.sessionId));
    assert.deepEqual(
      entries.map((entry) => entry.type),
      ['session.opened', 'tool.proposed', 'approval.requested', 'approval.decided', 'tool.decided'],
    );
    assert.equal(entries[4]?.subject, 'ada');
  },
);

test('a decision that no signal announces is seen by the timer', async () => {
  const claim = await openTestSession(record, { interactive: true });
  const deaf = { ...record, live: { publish: () => undefined, subscribe: () => () => undefined } };
  const held = requestPermit(deaf, claim, proposal('c1', 'a.txt', 30_000), never);
  let [approval] = await listApprovals(record.database, claim.sessionId);
  while (approval === undefined) [approval] = await listApprovals(record.database, claim.sessionId);
  await decideApproval(record, ada, claim.sessionId, approval.id, {
    decision: 'reject',
    argumentsDigest: approval.argumentsDigest,
    message: 'not this file',
  });
  assert.deepEqual(await held, {
    verdict: 'rejected',
    decidedBy: 'human',
    message: 'not this file',
    endsLoop: true,
    reason: 'tool_rejected',
  });
});

test('a held request whose caller hangs up ends; one without a decision answers waiting', async () => {
  const claim = await openTestSession(record, { interactive: true });
  const gone = new AbortController();
  const held = requestPermit(record, claim, proposal('c1', 'a.txt', 30_000), gone.signal);
  gone.abort();
  assert.equal((await held).verdict, 'waiting');
  assert.equal((await ask(claim, proposal('c1', 'a.txt', 50))).verdict, 'waiting');
});

test('a decision needs the digest that was shown, a person, and comes once', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await ask(claim, proposal('c1'));
  const [approval] = await listApprovals(record.database, claim.sessionId);
  assert.ok(approval);
  const decide = (person: Person, digest = approval.argumentsDigest) =>
    decideApproval(record, person, claim.sessionId, approval.id, {
      decision: 'approve',
      argumentsDigest: digest,
    });
  await assert.rejects(decide(ada, '0'.repeat(64)), { code: 'digest_mismatch' });
  await assert.rejects(decide({ ...ada, kind: 'automation' }), { code: 'forbidden' });
  const results = await Promise.allSettled([decide(ada), decide(ada), decide(ada)]);
  assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  await assert.rejects(decide(ada), { code: 'approval_decided' });
  const unknown = decideApproval(record, ada, claim.sessionId, 'apr_none', {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
  await assert.rejects(unknown, { code: 'approval_unknown' });
});

test('an overdue approval cannot be approved any more, and its expiry is automation', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await ask(claim, proposal('c1'));
  const [approval] = await listApprovals(record.database, claim.sessionId);
  assert.ok(approval);
  await record.database.query(`UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = $1`, [
    approval.id,
  ]);
  const late = decideApproval(record, ada, claim.sessionId, approval.id, {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
  await assert.rejects(late, { code: 'approval_decided' });
  assert.equal(await expireApproval(record, claim.sessionId, approval.id), true);
  const answer = await ask(claim, proposal('c1'));
  assert.ok(answer.verdict === 'rejected');
  assert.deepEqual([answer.decidedBy, answer.reason], ['automation', 'approval_expired']);
  const decided = (await chainEntries(record, sessionChain(claim.sessionId))).find(
    (entry) => entry.type === 'approval.decided',
  );
  assert.deepEqual([decided?.body['decision'], decided?.body['decidedBy']], ['expired', 'automation']);
});

test('decide, expire and stop at the same moment: exactly one decides, and the log is whole', async () => {
  for (let round = 0; round < 8; round += 1) {
    const claim = await openTestSession(record, { interactive: true });
    await ask(claim, proposal('c1'));
    const [approval] = await listApprovals(record.database, claim.sessionId);
    assert.ok(approval);
    await Promise.allSettled([
      decideApproval(record, ada, claim.sessionId, approval.id, {
        decision: 'approve',
        argumentsDigest: approval.argumentsDigest,
      }),
      expireApproval(record, claim.sessionId, approval.id),
      stop(claim),
    ]);
    const entries = await chainEntries(record, sessionChain(claim.sessionId));
    const decisions = entries.filter((entry) => entry.type === 'approval.decided');
    assert.equal(decisions.length, 1);
    assert.equal(entries.at(-1)?.type, 'chain.closed');
    const [final] = await listApprovals(record.database, claim.sessionId);
    assert.equal(final?.state, decisions[0]?.body['decision']);
  }
});

test('a new attempt asks the same question without asking the person twice, and uses their answer', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await ask(claim, proposal('c1'));
  await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [claim.sessionId]);
  await record.database.query('UPDATE sessions SET attempt = 2 WHERE id = $1', [claim.sessionId]);
  await record.database.query(
    `INSERT INTO attempts SELECT session_id, 2, server_id, boot_id, 'live', relay_token_hash, lease_expires_at,
       start_deadline FROM attempts WHERE session_id = $1`,
    [claim.sessionId],
  );
  const second = { ...claim, attempt: 2 };
  assert.equal((await ask(second, proposal('c1'))).verdict, 'waiting');
  const approvals = await listApprovals(record.database, claim.sessionId);
  assert.equal(approvals.length, 1);
  const [approval] = approvals;
  assert.ok(approval);
  await decideApproval(record, ada, claim.sessionId, approval.id, {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
  assert.equal((await ask(second, proposal('c1'))).verdict, 'go');
});

test('a lost attempt’s question and its answer move to the same request under another id, once', async () => {
  const lose = async (claim: AttemptClaim): Promise<AttemptClaim> => {
    const next = { ...claim, attempt: claim.attempt + 1 };
    await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [
      claim.sessionId,
    ]);
    await record.database.query('UPDATE sessions SET attempt = $2 WHERE id = $1', [
      claim.sessionId,
      next.attempt,
    ]);
    await record.database.query(
      `INSERT INTO attempts SELECT session_id, $2, server_id, boot_id, 'live', relay_token_hash, lease_expires_at,
         start_deadline FROM attempts WHERE session_id = $1 AND attempt = $3`,
      [claim.sessionId, next.attempt, claim.attempt],
    );
    return next;
  };
  const first = await openTestSession(record, { interactive: true });
  await ask(first, proposal('toolu_1'));
  const second = await lose(first);
  assert.equal((await ask(second, proposal('toolu_2', 'other.txt'))).verdict, 'waiting');
  assert.equal((await ask(second, proposal('toolu_3'))).verdict, 'waiting');
  const approvals = await listApprovals(record.database, first.sessionId);
  assert.deepEqual(
    approvals
      .map(({ callId, state }) => [callId, state])
      .toSorted(([left = ''], [right = '']) => left.localeCompare(right)),
    [
      ['toolu_2', 'waiting'],
      ['toolu_3', 'waiting'],
    ],
  );
  const moved = approvals.find(({ callId }) => callId === 'toolu_3');
  assert.ok(moved);
  await decideApproval(record, ada, first.sessionId, moved.id, {
    decision: 'approve',
    argumentsDigest: moved.argumentsDigest,
  });
  // lost again, before the answer was heard: it counts in the third attempt
  const third = await lose(second);
  const answer = await ask(third, proposal('toolu_4'));
  assert.ok(answer.verdict === 'go' && answer.decidedBy === 'human');
  assert.equal((await ask(third, proposal('toolu_5'))).verdict, 'waiting', 'and no second time');
  const fourth = await lose(third);
  assert.equal((await ask(fourth, proposal('toolu_6'))).verdict, 'waiting');
  const asked = await listApprovals(record.database, first.sessionId);
  assert.deepEqual(
    asked.map(({ callId, state }) => `${callId} ${state}`).sort(),
    ['toolu_2 waiting', 'toolu_4 approved', 'toolu_6 waiting'],
    'what was permitted stays with its call',
  );
});

test('a decision on an ended session is refused', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await ask(claim, proposal('c1'));
  const [approval] = await listApprovals(record.database, claim.sessionId);
  assert.ok(approval);
  await stop(claim);
  const late = decideApproval(record, ada, claim.sessionId, approval.id, {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
  await assert.rejects(late, { code: 'session_ended' });
});

test('arguments without a canonical form are the caller’s fault', async () => {
  const claim = await openTestSession(record, { policy: free });
  const torn = { callId: 'torn', turn: 1, tool: 'read_file', arguments: { path: 'a\ud800' }, waitMs: 0 };
  await assert.rejects(ask(claim, { ...torn, argumentsDigest: '0'.repeat(64) }), { code: 'request_invalid' });
});
