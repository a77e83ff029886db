import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { failOver } from '../../testing/traffic/fail-over.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { listApprovals } from '../approvals/approval-row.ts';
import { decideApproval } from '../approvals/decide-approval.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from './request-permit.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const ada: Person = { subject: 'ada', name: 'Ada', kind: 'human', roles: ['approver'] };
const proposal = (callId: string, path = 'a.txt'): unknown => ({
  callId,
  turn: 1,
  tool: 'read_file',
  arguments: { path },
  argumentsDigest: argumentsDigest({ path }),
  waitMs: 0,
});
const ask = (claim: AttemptClaim, body: unknown) =>
  requestPermit(record, claim, body, new AbortController().signal);

const lose = (claim: AttemptClaim) => failOver(record, claim);

const approve = async (claim: AttemptClaim) => {
  const approval = (await listApprovals(record.database, claim.sessionId)).find(
    ({ state }) => state === 'waiting',
  );
  assert.ok(approval);
  await decideApproval(record, ada, claim.sessionId, approval.id, {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
};

test('with egress or credentials a free call that was lost in the middle is asked about; others and other sessions go on', async () => {
  const free: PolicyInput = { tools: { read_file: 'allow' } };
  const cases: [PolicyInput, string[], string][] = [
    [free, [], 'go'],
    [{ ...free, egress: ['example.com'] }, [], 'waiting'],
    [free, ['DEPLOY_TOKEN'], 'waiting'],
  ];
  for (const [policy, credentials, again] of cases) {
    const first = await openTestSession(record, { policy, credentials, interactive: true });
    assert.equal((await ask(first, proposal('c1'))).verdict, 'go');
    const second = await lose(first);
    assert.equal((await ask(second, proposal('c2', 'other.txt'))).verdict, 'go');
    assert.equal((await ask(second, proposal('c3'))).verdict, again);
  }
});

test('an approval given to the lost attempt is used up, also under the same call id; a fresh one lets it go', async () => {
  const first = await openTestSession(record, { policy: { egress: ['example.com'] }, interactive: true });
  assert.equal((await ask(first, proposal('c1'))).verdict, 'waiting');
  await approve(first);
  assert.equal((await ask(first, proposal('c1'))).verdict, 'go');
  const second = await lose(first);
  assert.equal((await ask(second, proposal('c1'))).verdict, 'waiting');
  await approve(second);
  assert.equal((await ask(second, proposal('c1'))).verdict, 'go');
});

test('an approval is used up by a call that has ended too where something may be done twice; one that no permit used still counts', async () => {
  const cases: [PolicyInput, string[], string][] = [
    [{}, [], 'go'],
    [{ egress: ['example.com'] }, [], 'waiting'],
    [{}, ['DEPLOY_TOKEN'], 'waiting'],
  ];
  for (const [policy, credentials, again] of cases) {
    const first = await openTestSession(record, { policy, credentials, interactive: true });
    assert.equal((await ask(first, proposal('c1'))).verdict, 'waiting');
    await approve(first);
    assert.equal((await ask(first, proposal('c1'))).verdict, 'go');
    await record.database.query(
      `UPDATE tool_calls SET state = 'done', ended_at = now() WHERE session_id = $1`,
      [first.sessionId],
    );
    assert.equal((await ask(first, proposal('c2', 'b.txt'))).verdict, 'waiting');
    await approve(first);
    const second = await lose(first);
    assert.equal((await ask(second, proposal('c1'))).verdict, again);
    assert.equal((await ask(second, proposal('c2', 'b.txt'))).verdict, 'go');
  }
});

test('an approval that a second attempt was given and never used counts in the third', async () => {
  const first = await openTestSession(record, { policy: { egress: ['example.com'] }, interactive: true });
  await ask(first, proposal('c1'));
  await approve(first);
  assert.equal((await ask(first, proposal('c1'))).verdict, 'go');
  const second = await lose(first);
  assert.equal((await ask(second, proposal('c1'))).verdict, 'waiting');
  await approve(second);
  const third = await lose(second);
  assert.equal((await ask(third, proposal('c1'))).verdict, 'go');
});

test('no call can take the name of a used approval', async () => {
  const first = await openTestSession(record, { policy: { egress: ['example.com'] }, interactive: true });
  await ask(first, proposal('c1'));
  await approve(first);
  assert.equal((await ask(first, proposal('c1'))).verdict, 'go');
  const second = await lose(first);
  const [used] = await listApprovals(record.database, first.sessionId);
  assert.ok(used !== undefined && used.callId !== 'c1');
  for (const id of ['c1@1', used.callId])
    assert.notEqual((await ask(second, proposal(id)).catch(() => ({ verdict: 'refused' }))).verdict, 'go');
});
