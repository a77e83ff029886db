import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { storedCheckpoint } from '../../testing/traffic/checkpoint.ts';
import { createTestMint } from '../../testing/traffic/mint.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { decideApproval } from '../approvals/decide-approval.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import { giveBackAttempt } from '../checkpoints/give-back-attempt.ts';
import { takeCheckpoint } from '../checkpoints/take-checkpoint.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { awaitMessage } from '../messages/await-message.ts';
import { sendMessage } from '../messages/send-message.ts';
import { requestPermit } from '../permits/request-permit.ts';
import { loseAttempt } from '../recovery/lose-attempt.ts';
import { parkWaiting } from './park-waiting.ts';
import { pauseSession, resumeSession } from './pause-session.ts';
import { resumeAnswered } from './resume-answered.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
const stranger: Person = { subject: 'person-2', name: 'Sam', kind: 'human' };
const never = new AbortController().signal;
const told: string[] = [];
const servers = {
  place: () => Promise.resolve({ kind: 'taken' as const }),
  destroy: () => undefined,
  interrupt: () => Promise.resolve(),
  pause: (_server: string, held: { sessionId: string }, reason: string) =>
    void told.push(`${held.sessionId} ${reason}`),
};
const deps = () => ({
  ...record,
  servers,
  maxLosses: 2,
  pauseAfterSeconds: 0,
  maxPauseSeconds: 3600,
  settleUsage: () => Promise.resolve(),
});
const times = { leaseMs: 60_000, startTimeoutMs: 60_000, checkpointMs: 0 };

const open = () => openTestSession(record, { interactive: true, policy: { budgets: { maxActions: 5 } } });
const ask = (claim: AttemptClaim, callId = 'call') =>
  requestPermit(
    record,
    claim,
    {
      callId,
      turn: 1,
      tool: 'run_command',
      arguments: { command: 'make' },
      argumentsDigest: argumentsDigest({ command: 'make' }),
      waitMs: 0,
    },
    never,
  );
const row = async (claim: AttemptClaim) => {
  const [found] = await record.database.query<{
    state: string;
    reason: string | null;
    message: string | null;
    attempt: number;
    generation: number;
    server_id: string | null;
    pause_requested: string | null;
    actions_used: number;
    stop_reason: string | null;
  }>('SELECT * FROM sessions WHERE id = $1', [claim.sessionId]);
  assert.ok(found);
  return found;
};
const outbox = (claim: AttemptClaim) =>
  record.database.query('SELECT generation FROM outbox WHERE session_id = $1', [claim.sessionId]);
const approve = async (claim: AttemptClaim) => {
  const [approval] = await record.database.query<{ id: string }>(
    `SELECT id FROM approvals WHERE session_id = $1 AND state = 'waiting'`,
    [claim.sessionId],
  );
  assert.ok(approval);
  return decideApproval(record, opener, claim.sessionId, approval.id, {
    decision: 'approve',
    scope: 'once',
    argumentsDigest: argumentsDigest({ command: 'make' }),
  });
};
const store = async (claim: AttemptClaim, cause: 'pause' | 'interval' = 'pause') => {
  const given = await storedCheckpoint(record, claim, cause);
  return { given, answer: await takeCheckpoint(deps(), claim, given) };
};
/** The session's next attempt, as placement makes it. */
const place = async (claim: AttemptClaim): Promise<AttemptClaim> => {
  const { generation } = await row(claim);
  const job = { sessionId: claim.sessionId, generation };
  const minted = await createTestMint(record, times)(job, 'server-b');
  assert.ok(minted);
  return { ...claim, attempt: minted.attempt, serverId: 'server-b' };
};
const run = (claim: AttemptClaim) =>
  ingestBatch(record, claim, {
    firstSeq: 1,
    events: [
      { at: new Date().toISOString(), event: { type: 'running', driver: 'd', warm: true, timingsMs: {} } },
    ],
  });

test('a long wait is put away, its answer queues it once, and the decision counts in its next attempt', async () => {
  const claim = await open();
  assert.equal((await ask(claim)).verdict, 'waiting');
  await parkWaiting(deps());
  assert.ok(told.includes(`${claim.sessionId} awaiting_approval`));
  const { given, answer } = await store(claim);
  assert.deepEqual(answer, { outcome: 'paused', number: 1 });
  assert.deepEqual(await takeCheckpoint(deps(), claim, given), answer, 'a repeat gets the same answer');
  const paused = await row(claim);
  assert.deepEqual([paused.state, paused.reason, paused.server_id], ['paused', 'awaiting_approval', null]);
  await assert.rejects(ask(claim), { code: 'attempt_stale' });
  assert.equal(await resumeAnswered(deps()), 0, 'nobody has answered');
  assert.deepEqual(await outbox(claim), []);

  await approve(claim);
  await Promise.all([resumeAnswered(deps()), resumeAnswered(deps()), resumeAnswered(deps())]);
  assert.equal((await outbox(claim)).length, 1);
  assert.equal((await row(claim)).state, 'pending');
  const next = await place(claim);
  await run(next);
  const decided = await ask(next);
  assert.deepEqual([decided.verdict, 'decidedBy' in decided && decided.decidedBy], ['go', 'human']);
  assert.equal((await row(next)).actions_used, 1, 'the call that waited is the same call');
  const entries = await chainEntries(record, sessionChain(claim.sessionId));
  const types = entries.map(({ type }) => type).filter((type) => !type.startsWith('attempt'));
  assert.deepEqual(types, [
    'session.opened',
    'tool.proposed',
    'approval.requested',
    'session.checkpointed',
    'session.paused',
    'approval.decided',
    'session.resumed',
    'session.running',
    'tool.decided',
  ]);
});

test('a decision that arrives while the session is being put away lets it stay', async () => {
  const claim = await open();
  await ask(claim);
  await parkWaiting(deps());
  await approve(claim);
  assert.deepEqual((await store(claim)).answer, { outcome: 'stay', number: 1 });
  assert.deepEqual([(await row(claim)).state, (await row(claim)).pause_requested], ['running', null]);
  assert.equal((await ask(claim)).verdict, 'go');
});

test('the word to pause is taken back when the answer comes first', async () => {
  const claim = await open();
  await ask(claim);
  await parkWaiting(deps());
  assert.equal((await row(claim)).pause_requested, 'awaiting_approval');
  await approve(claim);
  await parkWaiting(deps());
  assert.equal((await row(claim)).pause_requested, null);
});

test('messages wake a session in the same way', async () => {
  const claim = await open();
  await record.database.query('UPDATE sessions SET follow_ups = true WHERE id = $1', [claim.sessionId]);
  await awaitMessage(record, claim, { after: 0, waitMs: 0 }, never);
  await parkWaiting(deps());
  assert.equal((await store(claim)).answer.outcome, 'paused');
  await sendMessage(record, opener, claim.sessionId, 'Go on.');
  await resumeAnswered(deps());
  const next = await place(claim);
  await run(next);
  assert.deepEqual(await awaitMessage(record, next, { after: 0, waitMs: 0 }, never), {
    kind: 'message',
    number: 1,
    text: 'Go on.',
  });
});

test('a person pauses and resumes; strangers do not; what is repeated changes nothing', async () => {
  const claim = await open();
  await assert.rejects(pauseSession(deps(), stranger, claim.sessionId), { code: 'forbidden' });
  await assert.rejects(resumeSession(deps(), opener, claim.sessionId), { code: 'conflict' });
  await pauseSession(deps(), opener, claim.sessionId);
  await pauseSession(deps(), opener, claim.sessionId);
  await resumeSession(deps(), opener, claim.sessionId);
  assert.equal((await row(claim)).pause_requested, null, 'it had not stopped yet');
  await pauseSession(deps(), opener, claim.sessionId);
  assert.equal((await store(claim)).answer.outcome, 'paused');
  await resumeAnswered(deps());
  assert.equal((await row(claim)).state, 'paused', 'only its person lets it go on');
  await resumeSession(deps(), opener, claim.sessionId);
  assert.equal((await row(claim)).state, 'pending');
  await pauseSession(deps(), opener, claim.sessionId);
  assert.deepEqual([(await row(claim)).state, (await row(claim)).reason], ['paused', 'by_person']);
  const entries = await chainEntries(record, sessionChain(claim.sessionId));
  const paused = entries.filter(({ type }) => type === 'session.paused');
  assert.deepEqual(
    paused.map(({ subject, body }) => [subject, body['reason'], body['checkpoint']]),
    [
      ['person-1', 'by_person', 1],
      ['person-1', 'by_person', 1],
    ],
  );
});

test('a pause uses up no minutes, from the moment it is stored until it runs again', async () => {
  const claim = await open();
  await record.database.query(
    `UPDATE sessions SET running_at = now() - interval '10 minutes' WHERE id = $1`,
    [claim.sessionId],
  );
  await pauseSession(deps(), opener, claim.sessionId);
  await store(claim);
  await record.database.query(
    `UPDATE session_pauses SET since = since - interval '5 minutes' WHERE session_id = $1`,
    [claim.sessionId],
  );
  await resumeSession(deps(), opener, claim.sessionId);
  const next = await place(claim);
  await run(next);
  const waited = await readWaitedMs(record.database, claim.sessionId);
  assert.ok(waited >= 300_000 && waited < 330_000, `${waited} ms`);
  const [span] = await record.database.query<{ until: string | null }>(
    'SELECT until FROM session_pauses WHERE session_id = $1',
    [claim.sessionId],
  );
  assert.notEqual(span?.until, null);
});

test('nothing is stored while a call is in calling, nor from objects that are not there', async () => {
  const claim = await open();
  await record.database.query(
    `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state) VALUES ($1, 1, 'c', 1, 'run_command', 'calling')`,
    [claim.sessionId],
  );
  await assert.rejects(store(claim, 'interval'), { code: 'conflict' });
  await record.database.query(`UPDATE tool_calls SET state = 'done' WHERE session_id = $1`, [
    claim.sessionId,
  ]);
  const given = await storedCheckpoint(record, claim, 'interval');
  await record.database.query(`UPDATE uploads SET state = 'announced' WHERE id = $1`, [
    given.archive.uploadId,
  ]);
  await assert.rejects(takeCheckpoint(deps(), claim, given), { code: 'digest_mismatch' });
  const other = await openTestSession(record, {});
  const foreign = await storedCheckpoint(record, other, 'interval');
  await assert.rejects(takeCheckpoint(deps(), claim, foreign), { code: 'not_found' });
  assert.deepEqual(
    await record.database.query('SELECT 1 FROM checkpoints WHERE session_id = $1', [claim.sessionId]),
    [],
  );
});

test('a lost session says from where it goes on; one that cannot be restored ends for what its servers said', async () => {
  const claim = await open();
  const patch = Buffer.from('diff --git a/a b/a\n');
  const given = await storedCheckpoint(record, claim, 'interval');
  const sha256 = createHash('sha256').update(patch).digest('hex');
  const file = { path: 'a', change: 'modified' as const, insertions: 1, deletions: 0, flags: [] };
  const base = { baseCommit: given.baseCommit, baseTree: given.baseCommit };
  await takeCheckpoint(deps(), claim, {
    ...given,
    diff: { sha256, bytes: patch.length, ...base, files: [file], insertions: 1, deletions: 0 },
    patch: { kind: 'inline', base64: patch.toString('base64') },
  });
  await loseAttempt(deps(), { ...claim, why: 'lease_expired' });
  const [lost] = await record.database.query<{ message: string }>(
    'SELECT message FROM sessions WHERE id = $1',
    [claim.sessionId],
  );
  assert.match(lost?.message ?? '', /lease expired\. It goes on from checkpoint 1\./);
  for (const attempt of [2, 3]) {
    const next = await place(claim);
    assert.equal(next.attempt, attempt);
    await giveBackAttempt(deps(), next, { reason: 'start_failed', message: 'The archive is broken.' });
  }
  const ended = await row(claim);
  assert.deepEqual([ended.state, ended.reason], ['failed', 'server_lost']);
  assert.match(ended.message ?? '', /The archive is broken\./);
  const [diff] = await record.database.query<{ state: string; patch: Buffer }>(
    'SELECT state, patch FROM diffs WHERE session_id = $1',
    [claim.sessionId],
  );
  assert.equal(diff?.state, 'offered');
  assert.deepEqual(diff.patch, patch, 'the work in the checkpoint is not lost');
  const events = await record.database.query<{ type: string; attempt: number }>(
    'SELECT type, attempt FROM session_events WHERE session_id = $1 ORDER BY position',
    [claim.sessionId],
  );
  const attempts = events.map(({ attempt }) => attempt);
  assert.deepEqual(
    attempts,
    attempts.toSorted((a, b) => a - b),
    'a reader is never told of an earlier attempt',
  );
  assert.equal(events.find(({ type }) => type === 'diff')?.attempt, 3);
  const [offered] = await record.database.query<{ body: Buffer }>(
    `SELECT body FROM audit_entries WHERE chain = $1 AND type = 'diff.offered'`,
    [sessionChain(claim.sessionId)],
  );
  assert.ok(offered);
  const { attempt } = JSON.parse(offered.body.toString()) as { attempt: number };
  assert.equal(attempt, 1, 'the log names the attempt whose work it is');
});

test('a pause that its person forgot ends the session, with its diff', async () => {
  const claim = await open();
  await pauseSession(deps(), opener, claim.sessionId);
  await store(claim);
  await record.database.query(
    `UPDATE session_pauses SET since = since - interval '2 hours' WHERE session_id = $1`,
    [claim.sessionId],
  );
  await resumeAnswered(deps());
  const forgotten = await row(claim);
  assert.deepEqual([forgotten.state, forgotten.stop_reason], ['pending', 'time_budget']);
});
