import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { mustWaitForOthers } from '@lemniscate/shared/budget/exchange-budget.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { policySchema } from '@lemniscate/shared/policy/policy.ts';
import type { Policy, PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { failOver } from '../../testing/traffic/fail-over.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { listApprovals } from '../approvals/approval-row.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { readTotals } from '../gateway/usage-totals.ts';
import { interruptTurn } from '../messages/interrupt-turn.ts';
import type { Person } from '../identity.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { acceptResult } from '../results/accept-result.ts';
import { decideDiff } from '../review/decide-diff.ts';
import { endSession } from '../sessions/end-session.ts';
import { selectSessionViews } from '../sessions/session-view.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const never = new AbortController().signal;
const free: PolicyInput = { tools: { delegate: 'allow', read_file: 'allow' } };

const propose = (claim: AttemptClaim, callId: string, tool: string, args: JsonObject, waitMs = 0) =>
  requestPermit(
    record,
    claim,
    { callId, turn: 1, tool, arguments: args, argumentsDigest: argumentsDigest(args), waitMs },
    never,
  );
const delegate = (claim: AttemptClaim, callId: string, more: JsonObject = {}, waitMs = 0) =>
  propose(claim, callId, 'delegate', { task: 'look at the tests', ...more }, waitMs);

interface Child extends Record<string, unknown> {
  readonly id: string;
  readonly state: string;
  readonly opened_by: string;
  readonly surface: string;
  readonly policy: Policy;
  readonly ancestors: string[];
}
const childrenOf = ({ sessionId }: AttemptClaim) =>
  record.database.query<Child>('SELECT * FROM sessions WHERE parent_id = $1 ORDER BY id', [sessionId]);

/** As the control side would have placed it. */
async function place(child: Child): Promise<AttemptClaim> {
  await record.database.query(
    `UPDATE sessions SET state = 'running', phase = 'working', attempt = 1, server_id = 'server-b', running_at = now()
     WHERE id = $1`,
    [child.id],
  );
  await record.database.query(
    `INSERT INTO attempts (session_id, attempt, server_id, state, relay_token_hash, lease_expires_at, start_deadline)
     VALUES ($1, 1, 'server-b', 'live', '', now() + interval '1 hour', now() + interval '1 hour')`,
    [child.id],
  );
  return { sessionId: child.id, attempt: 1, serverId: 'server-b' };
}

const end = (sessionId: string, reason: 'finished' | 'stopped' | 'model_failed', message: string) =>
  record.database.transaction((tx) => endSession(record, tx, { sessionId, reason, message }));

async function only(claim: AttemptClaim): Promise<Child> {
  const [child, ...more] = await childrenOf(claim);
  assert.ok(child);
  assert.equal(more.length, 0);
  return child;
}

test('a sub-agent works under the same person with bounds of what is left, reports, and what it used rolls up', async () => {
  const policy: PolicyInput = {
    ...free,
    budgets: { maxActions: 20, maxMinutes: 30, maxTokens: 10_000, maxCostUsd: '1.00', maxCommands: 7 },
  };
  const claim = await openTestSession(record, { policy });
  await propose(claim, 'r1', 'read_file', { path: 'a' });
  const first = await delegate(claim, 'd1', { max_minutes: 5 });
  assert.equal(first.verdict, 'waiting');
  const child = await only(claim);
  assert.deepEqual(
    [child.state, child.opened_by, child.ancestors],
    ['pending', 'person-1', [claim.sessionId]],
  );
  // two actions are used by now: the file that was read and this call
  assert.deepEqual(child.policy.budgets, {
    maxActions: 18,
    maxMinutes: 5,
    maxExtensions: 0,
    maxTokens: 5_000,
    maxCostUsd: '0.5',
    maxCommands: 7,
    unpricedModels: 'refuse',
  });
  assert.equal((await delegate(claim, 'd1', { max_minutes: 5 })).verdict, 'waiting');
  await only(claim);
  const below = await place(child);
  assert.equal((await propose(below, 'c1', 'read_file', { path: 'b' })).verdict, 'go');
  await record.database.query(
    `INSERT INTO usage (id, session_id, attempt, provider, model, state, complete, input_tokens, output_tokens, cost_usd)
     VALUES ($1, $2, 1, 'p', 'm', 'settled', true, 100, 20, 0.25)`,
    [record.newId('usage'), child.id],
  );
  const held = delegate(claim, 'd1', { max_minutes: 5 }, 20_000);
  await end(child.id, 'finished', 'The tests cover dates.');
  const answer = await held;
  assert.ok(answer.verdict === 'go');
  assert.equal(answer.result?.isError, false);
  assert.match(answer.result?.text ?? '', /finished\.\s+The tests cover dates\.\s+It changed no file/);
  assert.deepEqual(await delegate(claim, 'd1', { max_minutes: 5 }), answer, 'a repeat gets the same report');
  const [parent] = await record.database.query(
    'SELECT actions_used, delegated_tokens::int AS tokens, delegated_usd::text AS usd FROM sessions WHERE id = $1',
    [claim.sessionId],
  );
  assert.deepEqual(parent, { actions_used: 3, tokens: 120, usd: '0.25' });
  const [view] = await selectSessionViews(record.database, {
    where: 'id = $1',
    values: [claim.sessionId],
    limit: 1,
  });
  assert.deepEqual([view?.totalCostUsd, view?.usage.inputTokens], ['0.25', 100]);
  const types = (await chainEntries(record, sessionChain(claim.sessionId))).map(({ type }) => type);
  assert.ok(types.indexOf('session.delegated') < types.indexOf('session.reported'));
  const [opened] = await chainEntries(record, sessionChain(child.id));
  assert.deepEqual([opened?.body['parent'], opened?.body['kind']], [claim.sessionId, 'automation']);
});

test('what a sub-agent changed is a text for its parent and offered to nobody, also before the report is taken', async () => {
  const claim = await openTestSession(record, { policy: free });
  await delegate(claim, 'd1');
  const child = await only(claim);
  const below = await place(child);
  const patch =
    'diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n';
  const sha256 = createHash('sha256').update(patch).digest('hex');
  await acceptResult({ ...record, settleUsage: () => Promise.resolve() }, below, {
    reason: 'finished',
    message: 'Written.',
    timingsMs: { kill: 1 },
    diff: {
      sha256,
      bytes: Buffer.byteLength(patch),
      baseCommit: 'a'.repeat(40),
      baseTree: 'b'.repeat(40),
      files: [{ path: 'a.txt', change: 'added', insertions: 1, deletions: 0, flags: [] }],
      insertions: 1,
      deletions: 0,
    },
    patch: { kind: 'inline', base64: Buffer.from(patch).toString('base64') },
  });
  const diff = async () => {
    const [row] = await record.database.query<{ state: string; patch: Buffer | null }>(
      'SELECT state, patch FROM diffs WHERE session_id = $1',
      [child.id],
    );
    assert.ok(row);
    return row;
  };
  assert.equal((await diff()).state, 'discarded');
  const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
  await assert.rejects(decideDiff(record, opener, child.id, { kind: 'accept', sha256, flaggedFiles: [] }), {
    code: 'diff_missing',
  });
  const offered = (await chainEntries(record, sessionChain(child.id))).map(({ type }) => type);
  assert.ok(!offered.includes('diff.offered'));
  const answer = await delegate(claim, 'd1');
  assert.ok(answer.verdict === 'go');
  assert.match(answer.result?.text ?? '', /nothing of it is in yours:[^]*\+one/);
  const reported = (await chainEntries(record, sessionChain(claim.sessionId))).find(
    ({ type }) => type === 'session.reported',
  );
  assert.deepEqual([reported?.body['sha256'], reported?.body['fileCount']], [sha256, 1]);
  // with its parent goes what nobody approved
  assert.notEqual((await diff()).patch, null);
  await end(claim.sessionId, 'stopped', 'Stopped.');
  assert.equal((await diff()).patch, null);
});

test('a later attempt of the parent finds the sub-agent of the same call, and not that of other arguments', async () => {
  const claim = await openTestSession(record, { policy: free });
  await delegate(claim, 'd1', { max_actions: 9 });
  await record.database.query('UPDATE sessions SET attempt = 2 WHERE id = $1', [claim.sessionId]);
  await record.database.query(`UPDATE attempts SET state = 'ended' WHERE session_id = $1`, [claim.sessionId]);
  await record.database.query(
    `INSERT INTO attempts (session_id, attempt, server_id, state, relay_token_hash, lease_expires_at, start_deadline)
     VALUES ($1, 2, 'server-a', 'live', '', now() + interval '1 hour', now() + interval '1 hour')`,
    [claim.sessionId],
  );
  const again = { ...claim, attempt: 2 };
  assert.equal((await delegate(again, 'd1', { max_actions: 9 })).verdict, 'waiting');
  await only(claim);
  await delegate(again, 'd2', { task: 'something else' });
  assert.equal((await childrenOf(claim)).length, 2);
});

test('depth and width are bounded, and where nothing is left no sub-agent starts', async () => {
  const refused = async (claim: AttemptClaim, callId: string, why: RegExp) => {
    const answer = await delegate(claim, callId, { task: callId });
    assert.ok(answer.verdict === 'go');
    assert.equal(answer.result?.isError, true);
    assert.match(answer.result?.text ?? '', why);
  };
  const wide = await openTestSession(record, { policy: { ...free, delegation: { maxChildren: 1 } } });
  await delegate(wide, 'd1');
  await refused(wide, 'd2', /has had its 1 sub-agents/);
  const below = await place(await only(wide));
  await refused(below, 'd3', /not go deeper than 1/);
  const deep = await openTestSession(record, { policy: { ...free, delegation: { maxDepth: 2 } } });
  await delegate(deep, 'd1');
  const second = await place(await only(deep));
  assert.equal((await delegate(second, 'd2')).verdict, 'waiting');
  const third = await place(await only(second));
  await refused(third, 'd3', /not go deeper than 2/);
  const off = await openTestSession(record, { policy: { ...free, delegation: { maxDepth: 0 } } });
  await refused(off, 'd1', /not go deeper than 0/);
  const spent = await openTestSession(record, { policy: { ...free, budgets: { maxActions: 1 } } });
  await refused(spent, 'd1', /no action is left/);
});

test('after a failover the same task under a new id finds its sub-agent; in one attempt, or once it was read, it is another', async () => {
  const first = await openTestSession(record, { policy: free });
  await delegate(first, 'd1', { max_actions: 5 });
  const child = await only(first);
  const second = await failOver(record, first);
  assert.equal((await delegate(second, 'e1', { max_actions: 5 })).verdict, 'waiting');
  assert.equal((await only(first)).id, child.id);
  await place(child);
  await end(child.id, 'finished', 'done');
  assert.equal((await delegate(second, 'e1', { max_actions: 5 })).verdict, 'go');
  const third = await failOver(record, second);
  assert.equal((await delegate(third, 'f1', { max_actions: 5 })).verdict, 'waiting');
  assert.equal((await delegate(third, 'f2', { max_actions: 5 })).verdict, 'waiting');
  assert.equal((await childrenOf(first)).length, 3);
});

test('a policy that does not allow the runtime of sub-agents has none', async () => {
  const closed = await openTestSession(record, { policy: { ...free, runtimes: ['claude-code'] } });
  const answer = await delegate(closed, 'd1');
  assert.ok(answer.verdict === 'go');
  assert.equal(answer.result?.isError, true);
  assert.match(answer.result?.text ?? '', /runtime native, which the policy does not allow/);
  assert.equal((await childrenOf(closed)).length, 0);
  const open = await openTestSession(record, { policy: { ...free, runtimes: ['claude-code', 'native'] } });
  assert.equal((await delegate(open, 'd1')).verdict, 'waiting');
});

test('a stop reaches the whole tree; a sub-agent that fails is an answer to the model', async () => {
  const claim = await openTestSession(record, { policy: { ...free, delegation: { maxDepth: 2 } } });
  await delegate(claim, 'd1');
  const child = await only(claim);
  const below = await place(child);
  await delegate(below, 'd2');
  const grandchild = await only(below);
  await end(claim.sessionId, 'stopped', 'stopped');
  for (const id of [child.id, grandchild.id]) {
    const [row] = await record.database.query('SELECT state, reason FROM sessions WHERE id = $1', [id]);
    assert.deepEqual(row, { state: 'user_stopped', reason: 'stopped' });
    assert.equal((await chainEntries(record, sessionChain(id))).at(-1)?.type, 'chain.closed');
  }
  await assert.rejects(propose(below, 'c1', 'read_file', { path: 'b' }), { code: 'attempt_stale' });
  const other = await openTestSession(record, { policy: free });
  await delegate(other, 'd1');
  const failing = await only(other);
  await place(failing);
  await end(failing.id, 'model_failed', 'The model is gone.');
  const answer = await delegate(other, 'd1');
  assert.ok(answer.verdict === 'go');
  assert.deepEqual([answer.result?.isError, /model_failed/.test(answer.result?.text ?? '')], [true, true]);
});

test('a sub-agent asks the same person, marked, where they look', async () => {
  const claim = await openTestSession(record, {
    interactive: true,
    policy: { tools: { delegate: 'allow' } },
  });
  await delegate(claim, 'd1');
  const child = await only(claim);
  const below = await place(child);
  assert.equal((await propose(below, 'c1', 'read_file', { path: 'b' })).verdict, 'waiting');
  const [approval] = await listApprovals(record.database, child.id);
  assert.equal(approval?.delegatedBy, claim.sessionId);
  assert.match(approval?.reasons[0] ?? '', new RegExp(`a sub-agent of session ${claim.sessionId} asks`));
  const shown = await record.database.query<{ event: { sessionId?: string } }>(
    `SELECT event FROM session_events WHERE session_id = $1 AND event ->> 'type' = 'approval'`,
    [claim.sessionId],
  );
  assert.deepEqual(
    shown.map(({ event }) => event.sessionId),
    [child.id],
  );
});

test('the rights of a sub-agent are the parent’s: only its budgets differ', async () => {
  const policy: PolicyInput = { ...free, freeCommands: ['ls'], egress: ['a.example'], flaggedPaths: ['x'] };
  const claim = await openTestSession(record, { policy });
  await delegate(claim, 'd1');
  const { budgets: _, ...rights } = (await only(claim)).policy;
  const { budgets: __, ...own } = policySchema.parse(policy);
  assert.deepEqual(rights, JSON.parse(JSON.stringify(own)));
});

test('sub-agents at the same time never get more than what is left: one waits behind the other, and so does their parent', async () => {
  const claim = await openTestSession(record, { policy: { ...free, budgets: { maxActions: 20 } } });
  assert.equal((await delegate(claim, 'd1', { max_actions: 6 })).verdict, 'waiting');
  assert.equal((await delegate(claim, 'd2', { task: 'the rest' })).verdict, 'waiting');
  const [first, second] = await childrenOf(claim);
  assert.ok(first && second);
  // two calls of its own are counted
  assert.deepEqual([first.policy.budgets.maxActions, second.policy.budgets.maxActions], [6, 12]);
  assert.equal((await delegate(claim, 'd3', { task: 'even more' })).verdict, 'waiting');
  assert.equal((await propose(claim, 'r1', 'read_file', { path: 'a' })).verdict, 'waiting');
  assert.equal((await childrenOf(claim)).length, 2);
  const [{ actions_used: counted }] = (await record.database.query<{ actions_used: number }>(
    'SELECT actions_used FROM sessions WHERE id = $1',
    [claim.sessionId],
  )) as [{ actions_used: number }];
  assert.equal(counted, 2, 'what waits has used nothing');
  await place(first);
  await place(second);
  await record.database.query('UPDATE sessions SET actions_used = 12 WHERE id = $1', [second.id]);
  const held = propose(claim, 'r1', 'read_file', { path: 'a' }, 20_000);
  await end(first.id, 'finished', 'Done.');
  assert.equal((await held).verdict, 'go', 'what the first did not use is there again');
  await end(second.id, 'finished', 'Done too.');
  for (let index = 2; index <= 6; index += 1)
    assert.equal((await propose(claim, `r${index}`, 'read_file', { path: 'a' })).verdict, 'go', `r${index}`);
  assert.equal((await propose(claim, 'r7', 'read_file', { path: 'a' })).verdict, 'stop');
});

test('tokens and money are halved each time, and count as open beside the parent’s own exchanges', async () => {
  const policy: PolicyInput = { ...free, budgets: { maxTokens: 8_000, maxCostUsd: '2' } };
  const claim = await openTestSession(record, { policy });
  await delegate(claim, 'd1', { max_actions: 3 });
  await delegate(claim, 'd2', { max_actions: 3, task: 'another' });
  const given = (await childrenOf(claim)).map(({ policy: { budgets } }) => [
    budgets.maxTokens,
    budgets.maxCostUsd,
  ]);
  assert.deepEqual(given, [
    [4_000, '1'],
    [2_000, '0.5'],
  ]);
  const totals = await readTotals(record.database, claim.sessionId);
  assert.deepEqual([totals.open_tokens, totals.open_usd, totals.children], [6_000, '1.5', 2]);
  const { budgets } = policySchema.parse(policy);
  assert.equal(mustWaitForOthers(budgets, totals, { tokens: 2_000, usd: '0.1' }), false);
  assert.equal(mustWaitForOthers(budgets, totals, { tokens: 2_001, usd: '0.1' }), true);
});

test('while a sub-agent waits for its person, the parent’s minutes stand as well', async () => {
  const claim = await openTestSession(record, {
    interactive: true,
    policy: { tools: { delegate: 'allow' } },
  });
  await delegate(claim, 'd1');
  const below = await place(await only(claim));
  assert.equal((await propose(below, 'c1', 'read_file', { path: 'b' })).verdict, 'waiting');
  const waited = async () => Math.round((await readWaitedMs(record.database, claim.sessionId)) / 60_000);
  assert.equal(await waited(), 0);
  await record.database.query(
    `UPDATE sessions SET running_at = running_at - interval '100 minutes' WHERE id = $1`,
    [claim.sessionId],
  );
  await record.database.query(
    `UPDATE approvals SET created_at = created_at - interval '90 minutes' WHERE session_id = $1`,
    [below.sessionId],
  );
  assert.equal(await waited(), 90);
  // 100 minutes have passed and 90 of them were waited
  const answer = await delegate(claim, 'd1');
  assert.equal(answer.verdict, 'waiting');
});

test('an interrupt of the parent ends the sub-agent whose report nobody waits for any more; its use counts', async () => {
  const claim = await openTestSession(record, { interactive: true, policy: free });
  await delegate(claim, 'd1');
  const child = await only(claim);
  const below = await place(child);
  assert.equal((await propose(below, 'c1', 'read_file', { path: 'b' })).verdict, 'go');
  const told: string[] = [];
  const servers = {
    interrupt: () => Promise.resolve(),
    destroy: (_server: string, held: { sessionId: string }) => void told.push(held.sessionId),
  };
  const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
  await interruptTurn({ ...record, servers }, opener, claim.sessionId);
  const [ended] = await record.database.query('SELECT state, reason FROM sessions WHERE id = $1', [child.id]);
  assert.deepEqual(ended, { state: 'user_stopped', reason: 'stopped' });
  assert.deepEqual(told, [child.id]);
  const [parent] = await record.database.query('SELECT state, actions_used FROM sessions WHERE id = $1', [
    claim.sessionId,
  ]);
  assert.deepEqual(parent, { state: 'running', actions_used: 2 });
});
