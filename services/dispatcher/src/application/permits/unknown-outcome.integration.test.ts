import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { listApprovals } from '../approvals/approval-row.ts';
import { decideApproval } from '../approvals/decide-approval.ts';
import { abandonCalls } from '../audit/abandoned-calls.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from './request-permit.ts';
import { useUpApprovals } from './use-up-approvals.ts';

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

/** The attempt is lost as `loseAttempt` does it, and the next one is live. */
async function lose(claim: AttemptClaim): Promise<AttemptClaim> {
  const attempt = claim.attempt + 1;
  await record.database.transaction(async (tx) => {
    await tx.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [claim.sessionId]);
    await abandonCalls(tx, claim.sessionId, 'spiffe://lemniscate/dispatcher/test', 'attempt_lost');
    await useUpApprovals(tx, claim.sessionId, claim.attempt);
    await tx.query(
      `INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('attempt', $2::int, 'state', 'live',
         'relay_token_hash', md5(random()::text)))).* FROM attempts a WHERE session_id = $1 AND attempt = $2 - 1`,
      [claim.sessionId, attempt],
    );
    await tx.query('UPDATE sessions SET attempt = $2 WHERE id = $1', [claim.sessionId, attempt]);
  });
  return { ...claim, attempt };
}

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
