import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { DecideApproval } from '@lemniscate/shared/api/session.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { listApprovals, listWaitingApprovals } from './approval-row.ts';
import { decideApproval } from './decide-approval.ts';
import { followWaiting } from './follow-waiting.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const person = (subject: string, more: Partial<Person> = {}): Person => ({
  subject,
  name: subject,
  kind: 'human',
  ...more,
});
const opener = person('person-1');
const ada = person('ada', { roles: ['approver'] });
const ben = person('ben', { roles: ['approver'] });
const never = new AbortController().signal;

const run = (claim: AttemptClaim, callId: string, command: string) =>
  requestPermit(
    record,
    claim,
    {
      callId,
      turn: 1,
      tool: 'run_command',
      arguments: { command },
      argumentsDigest: argumentsDigest({ command }),
      waitMs: 0,
    },
    never,
  );
const newest = async (claim: AttemptClaim) => {
  const approval = (await listApprovals(record.database, claim.sessionId)).at(-1);
  assert.ok(approval);
  return approval;
};
const decide = async (
  claim: AttemptClaim,
  who: Person,
  decision: DecideApproval['decision'] = 'approve',
  scope: DecideApproval['scope'] = 'once',
) => {
  const { id, argumentsDigest: shown } = await newest(claim);
  return decideApproval(record, who, claim.sessionId, id, { decision, scope, argumentsDigest: shown });
};

test('whoever opened the session decides, and approvers; nobody else and no service token', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await run(claim, 'c1', 'make');
  await assert.rejects(decide(claim, person('eve')), { code: 'forbidden' });
  await assert.rejects(decide(claim, person('person-1', { kind: 'automation' })), { code: 'forbidden' });
  assert.equal((await decide(claim, opener)).state, 'approved');
  await run(claim, 'c2', 'make');
  assert.equal((await decide(claim, ada)).state, 'approved');
});

test('once is once; for the session is exactly the same command, by the same human, and no other', async () => {
  const claim = await openTestSession(record, { interactive: true });
  await run(claim, 'c1', 'make all');
  await decide(claim, ada);
  assert.equal((await run(claim, 'c1', 'make all')).verdict, 'go');
  assert.equal((await run(claim, 'c2', 'make all')).verdict, 'waiting');
  await decide(claim, ada, 'approve', 'session');
  const again = await run(claim, 'c3', 'make all');
  assert.ok(again.verdict === 'go');
  assert.equal(again.decidedBy, 'human');
  for (const [index, command] of ['make all ', 'make all -j', 'make  all', 'make all; ls'].entries())
    assert.equal((await run(claim, `d${index}`, command)).verdict, 'waiting', command);
  assert.equal((await run(claim, 'e1', 'sudo make all')).verdict, 'forbidden');
  const other = await openTestSession(record, { interactive: true });
  assert.equal((await run(other, 'c1', 'make all')).verdict, 'waiting');
  const decided = (await chainEntries(record, sessionChain(claim.sessionId))).filter(
    (entry) => entry.type === 'tool.decided' && entry.body['call'] === 'c3',
  );
  assert.deepEqual([decided.length, decided[0]?.subject], [1, 'ada']);
});

test('four eyes: two different people, one no is enough', async () => {
  const policy = { fourEyes: [{ commands: ['npm publish'] }] };
  const claim = await openTestSession(record, { interactive: true, policy });
  await run(claim, 'c1', 'npm publish');
  const first = await decide(claim, opener, 'approve', 'session');
  assert.deepEqual([first.state, first.approved_by, first.people], ['waiting', ['person-1'], 2]);
  assert.equal((await run(claim, 'c1', 'npm publish')).verdict, 'waiting');
  await assert.rejects(decide(claim, opener), { code: 'approval_decided' });
  assert.equal((await decide(claim, ben)).state, 'approved');
  assert.equal((await run(claim, 'c1', 'npm publish')).verdict, 'go');
  // One of the two meant only this once.
  assert.equal((await run(claim, 'c2', 'npm publish')).verdict, 'waiting');
  await decide(claim, ada);
  assert.equal((await decide(claim, ben, 'reject')).state, 'rejected');
  const answer = await run(claim, 'c2', 'npm publish');
  assert.ok(answer.verdict === 'rejected');
  assert.equal(answer.decidedBy, 'human');
  const types = (await chainEntries(record, sessionChain(claim.sessionId))).map((entry) => entry.type);
  assert.equal(types.filter((type) => type === 'approval.voted').length, 2);
  assert.equal(types.filter((type) => type === 'approval.decided').length, 2);
});

test('the yes of somebody whose access was taken away makes no second pair of eyes', async () => {
  const policy = { fourEyes: [{ commands: ['npm publish'] }] };
  const claim = await openTestSession(record, { interactive: true, policy });
  const gone = person('gone', { roles: ['approver'] });
  await run(claim, 'c1', 'npm publish');
  await decide(claim, gone);
  await record.database.query(`INSERT INTO revoked_users (subject, revoked_by) VALUES ('gone', 'root')`);
  const first = await decide(claim, ada);
  assert.deepEqual([first.state, first.approved_by], ['waiting', ['ada']]);
  assert.equal((await run(claim, 'c1', 'npm publish')).verdict, 'waiting');
  const second = await decide(claim, ben);
  assert.deepEqual([second.state, second.approved_by], ['approved', ['ada', 'ben']]);
});

test('two votes at the same moment decide once', async () => {
  const policy = { fourEyes: [{ tools: ['run_command'] }] };
  for (let round = 0; round < 5; round += 1) {
    const claim = await openTestSession(record, { interactive: true, policy });
    await run(claim, 'c1', 'make');
    const votes = await Promise.all([ada, ben].map((who) => decide(claim, who)));
    assert.deepEqual(new Set(votes.map(({ state }) => state)), new Set(['waiting', 'approved']));
  }
});

test('the waiting list is followed: as it is, and anew when something is asked or decided', async () => {
  const claim = await openTestSession(record, { interactive: true });
  const before = await listWaitingApprovals(record.database, null);
  const gone = new AbortController();
  const lists = followWaiting(record, null, gone.signal);
  const next = async () => ((await lists.next()).value ?? []).map(({ id }: { id: string }) => id);
  assert.deepEqual(
    await next(),
    before.map(({ id }) => id),
  );
  await run(claim, 'c1', 'make');
  const { id } = await newest(claim);
  assert.ok((await next()).includes(id));
  await decide(claim, ada);
  assert.ok(!(await next()).includes(id));
  gone.abort();
  assert.equal((await lists.next()).done, true);
});
