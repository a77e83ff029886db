import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { createRandom } from '@lemniscate/shared/policy/command/fuzz/random.ts';
import type { Random } from '@lemniscate/shared/policy/command/fuzz/random.ts';
import { canTransition } from '@lemniscate/shared/transition-table.ts';
import { sessionHasEnded, sessionTransitions } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { storedCheckpoint } from '../../testing/traffic/checkpoint.ts';
import { createTestMint } from '../../testing/traffic/mint.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { decideApproval, expireApproval } from '../approvals/decide-approval.ts';
import { listApprovals } from '../approvals/approval-row.ts';
import { decideExtension } from '../budgets/decide-extension.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { interruptTurn } from '../messages/interrupt-turn.ts';
import { takeCheckpoint } from '../checkpoints/take-checkpoint.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import { parkWaiting } from '../pausing/park-waiting.ts';
import { pauseSession, resumeSession } from '../pausing/pause-session.ts';
import { resumeAnswered } from '../pausing/resume-answered.ts';
import { loseAttempt } from '../recovery/lose-attempt.ts';
import { stopOverdue } from '../../jobs/budget-watch.ts';
import { stopSession } from '../sessions/stop-session.ts';
import { requestPermit } from './request-permit.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const people: readonly Person[] = ['person-1', 'ada', 'ben'].map((subject) => ({
  subject,
  name: subject,
  kind: 'human',
  roles: ['approver'],
}));
const opener: Person = { subject: 'person-1', name: 'person-1', kind: 'human' };
const gone = AbortSignal.timeout(60_000);
const servers = {
  place: () => Promise.resolve({ kind: 'taken' as const }),
  destroy: () => undefined,
  pause: () => undefined,
  interrupt: () => Promise.resolve(),
};
const times = { leaseMs: 3_600_000, startTimeoutMs: 3_600_000, checkpointMs: 0 };
const calls = [
  { tool: 'read_file', arguments: { path: 'a' } },
  { tool: 'run_command', arguments: { command: 'make all' } },
  { tool: 'run_command', arguments: { command: 'npm publish' } },
  { tool: 'run_command', arguments: { command: 'sudo make' } },
] as const;

/** One thing that may happen to a session at any moment. What is refused is refused with a code, never half done. */
type Event = (sessionId: string, random: Random) => Promise<unknown>;

const events: readonly (readonly [weight: number, event: Event])[] = [
  [8, ask],
  [5, (id, random) => onApproval(id, random, ['approve', 'approve', 'reject'])],
  [1, expire],
  [
    2,
    (id, random) =>
      decideExtension(record, random.pick(people), id, {
        decision: random.pick(['extend', 'extend', 'end']),
        number: random.pick([1, 1, 2]),
      }),
  ],
  [1, crash],
  [1, putAway],
  [
    1,
    (id, random) => (random.chance(40) ? interruptTurn({ ...record, servers }, opener, id) : ask(id, random)),
  ],
  [1, (id, random) => (random.chance(20) ? timeOut(id) : ask(id, random))],
  [4, goOn],
  [
    1,
    (id, random) =>
      random.chance(30) ? stopSession({ ...record, servers }, random.pick(people), id) : ask(id, random),
  ],
];

async function ask(sessionId: string, random: Random): Promise<void> {
  const [row] = await record.database.query<{ attempt: number }>(
    'SELECT attempt FROM sessions WHERE id = $1',
    [sessionId],
  );
  const call = random.pick(calls);
  const claim = { sessionId, attempt: row?.attempt ?? 1, serverId: 'server-a' };
  await requestPermit(
    record,
    claim,
    {
      callId: `c${random.below(6)}-${call.tool}-${calls.indexOf(call)}`,
      turn: 1,
      ...call,
      argumentsDigest: argumentsDigest(call.arguments),
      waitMs: random.pick([0, 0, 30]),
    },
    gone,
  );
}

async function onApproval(
  sessionId: string,
  random: Random,
  decisions: readonly ('approve' | 'reject')[],
): Promise<void> {
  const approvals = await listApprovals(record.database, sessionId);
  if (approvals.length === 0) return;
  const approval = random.pick(approvals);
  await decideApproval(record, random.pick(people), sessionId, approval.id, {
    decision: random.pick(decisions),
    scope: random.pick(['once', 'session']),
    argumentsDigest: approval.argumentsDigest,
  });
}

async function expire(sessionId: string, random: Random): Promise<void> {
  const waiting = (await listApprovals(record.database, sessionId)).filter(
    ({ state }) => state === 'waiting',
  );
  if (waiting.length > 0) await expireApproval(record, sessionId, random.pick(waiting).id);
}

/** The server is lost, and the session begins again elsewhere. */
async function crash(sessionId: string): Promise<void> {
  const [row] = await record.database.query<{ attempt: number }>(
    'SELECT attempt FROM sessions WHERE id = $1',
    [sessionId],
  );
  const held = { sessionId, attempt: row?.attempt ?? 1, serverId: 'server-a' };
  await loseAttempt({ ...record, servers, maxLosses: 100 }, { ...held, why: 'lease_expired' });
  const [lost] = await record.database.query<{ generation: number }>(
    `SELECT generation FROM sessions WHERE id = $1`,
    [sessionId],
  );
  const job = { sessionId, generation: lost?.generation ?? 1 };
  await createTestMint(record, times)(job, 'server-a');
}

/** Its minutes are used up, and the watch comes by. */
async function timeOut(sessionId: string): Promise<void> {
  await record.database.query(
    `UPDATE sessions SET running_at = running_at - interval '46 minutes' WHERE id = $1`,
    [sessionId],
  );
  await stopOverdue(record);
}

const pausing = () => ({
  ...record,
  servers,
  pauseAfterSeconds: 0,
  maxPauseSeconds: 3600,
  settleUsage: () => Promise.resolve(),
});

/** The session waits, or its person wants it paused, and its server stores it. */
async function putAway(sessionId: string, random: Random): Promise<void> {
  if (random.chance(30)) await pauseSession(pausing(), opener, sessionId);
  else await parkWaiting(pausing());
  const [row] = await record.database.query<{ attempt: number }>(
    'SELECT attempt FROM sessions WHERE id = $1',
    [sessionId],
  );
  const claim = { sessionId, attempt: row?.attempt ?? 1, serverId: 'server-a' };
  await takeCheckpoint(pausing(), claim, await storedCheckpoint(record, claim, 'pause'));
}

/** What is paused is answered or resumed, and begins to run again. */
async function goOn(sessionId: string, random: Random): Promise<void> {
  if (random.chance(50)) await resumeSession(pausing(), opener, sessionId).catch(refusedWithCode);
  await resumeAnswered(pausing());
  const [row] = await record.database.query<{ state: string; generation: number; attempt: number }>(
    `SELECT state, generation, attempt FROM sessions WHERE id = $1`,
    [sessionId],
  );
  if (row?.state !== 'pending') return;
  const job = { sessionId, generation: row.generation };
  const minted = await createTestMint(record, times)(job, 'server-a');
  if (minted === null) return;
  const claim = { sessionId, attempt: minted.attempt, serverId: 'server-a' };
  const at = new Date().toISOString();
  const event = { type: 'running', driver: 'd', warm: true, timingsMs: {} };
  await ingestBatch(record, claim, { firstSeq: 1, events: [{ at, event }] });
}

function refusedWithCode(error: unknown): void {
  if (!isCodedError(error)) throw error;
}

async function happen(sessionId: string, random: Random): Promise<void> {
  const bag = events.flatMap(([weight, event]) => Array<Event>(weight).fill(event));
  await random
    .pick(bag)(sessionId, random)
    .catch((error: unknown) => {
      if (!isCodedError(error)) throw error;
    });
}

const rounds = 80;

test(`${rounds} storms of asks, decisions, expiries, interrupts, timeouts, pauses, crashes and stops: no execution without a decision, none with two`, async (t) => {
  let permitted = 0;
  let byHumans = 0;
  let last = '';
  for (let seed = 1; seed <= rounds; seed += 1) {
    const random = createRandom(seed);
    const { sessionId } = await openTestSession(record, {
      interactive: true,
      policy: {
        tools: { read_file: 'allow' },
        fourEyes: [{ commands: ['npm publish'] }],
        budgets: { maxActions: 6, maxExtensions: 1 },
        continueAfterToolRejection: true,
      },
    });
    for (let wave = 0; wave < 12; wave += 1)
      await Promise.all(Array.from({ length: 5 }, () => happen(sessionId, random)));
    const counted = await check(sessionId, `seed ${seed}`);
    permitted += counted.permitted;
    byHumans += counted.byHumans;
    if (counted.permitted > 0) last = sessionId;
  }
  t.diagnostic(`${permitted} permitted calls, ${byHumans} of them by humans`);
  assert.ok(permitted > 40 && byHumans > 10, 'the storms did something');
  for (const forgery of forgeries) await forge(last, forgery);
});

/** What no storm may bring about, done by hand: each is found. */
const forgeries = [
  // by somebody else than the log says
  `UPDATE tool_calls SET decided_by = CASE decided_by WHEN 'human' THEN 'automation' ELSE 'human' END
   WHERE session_id = $1 AND answer ->> 'verdict' = 'go'`,
  // permitted without an entry
  `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state, answer, decided_by)
   VALUES ($1, 1, 'forged', 1, 'read_file', 'done', '{"verdict": "go"}', 'automation')`,
  // a decision that was another call's
  `UPDATE tool_calls SET call_id = (SELECT max(convert_from(body, 'UTF8')::jsonb -> 'body' ->> 'call')
     FROM audit_entries WHERE chain = 'session:' || $1 AND type = 'tool.decided') || '-twice-' || call_id
   WHERE session_id = $1 AND answer ->> 'verdict' = 'go'`,
  // a step that the table of states does not have
  `UPDATE session_events SET event = jsonb_set(event, '{state}', '"completed"')
   WHERE session_id = $1 AND type = 'state' AND position = (SELECT min(position) FROM session_events
     WHERE session_id = $1 AND type = 'state')`,
];

async function forge(sessionId: string, statement: string): Promise<void> {
  const abort = new Error('undo the forgery');
  await assert.rejects(
    record.database.transaction(async (tx) => {
      await tx.query(statement, [sessionId]);
      await assert.rejects(check(sessionId, 'forged', tx), assert.AssertionError, statement);
      throw abort;
    }),
    abort,
  );
}

async function check(sessionId: string, where: string, database: Transaction = record.database) {
  const entries = await chainEntries(record, sessionChain(sessionId));
  const calls = await database.query<{
    attempt: number;
    call_id: string;
    tool: string;
    decided_by: string | null;
    go: boolean;
  }>(
    `SELECT attempt, call_id, tool, decided_by, coalesce(answer ->> 'verdict' = 'go', false) AS go
     FROM tool_calls WHERE session_id = $1`,
    [sessionId],
  );
  const attempts = await database.query<{
    call: string;
    attempt: number;
    answer: string;
    decided: string;
  }>(
    `SELECT e ->> 'call' AS call, (j ->> 'attempt')::int AS attempt, e ->> 'answer' AS answer,
       e ->> 'decidedBy' AS decided
     FROM audit_entries, LATERAL (SELECT convert_from(body, 'UTF8')::jsonb AS j) b, LATERAL (SELECT j -> 'body' AS e) c
     WHERE chain = $1 AND type = 'tool.decided'`,
    [sessionChain(sessionId)],
  );
  const permitted = calls.filter(({ go }) => go);
  for (const call of calls) {
    const decisions = attempts.filter(
      (entry) => entry.call === call.call_id && entry.attempt === call.attempt,
    );
    assert.ok(decisions.length <= 1, `${where}: ${call.call_id} was decided ${decisions.length} times`);
    if (!call.go) continue;
    assert.equal(decisions.length, 1, `${where}: ${call.call_id} was permitted without a decision`);
    assert.match(call.decided_by ?? '', /^(human|automation)$/, where);
    assert.deepEqual([decisions[0]?.answer, decisions[0]?.decided], ['go', call.decided_by], where);
    assert.ok(
      call.tool === 'read_file' ? call.decided_by === 'automation' : call.decided_by === 'human',
      where,
    );
    assert.ok(!call.call_id.endsWith('-3'), `${where}: a refused command ran`);
  }
  await checkApprovals(sessionId, entries, where);
  await checkStates(sessionId, entries, where, database);
  return {
    permitted: permitted.length,
    byHumans: permitted.filter((call) => call.decided_by === 'human').length,
  };
}

async function checkApprovals(
  sessionId: string,
  entries: Awaited<ReturnType<typeof chainEntries>>,
  where: string,
): Promise<void> {
  for (const approval of await listApprovals(record.database, sessionId)) {
    const decided = entries.filter(
      (entry) => entry.type === 'approval.decided' && entry.body['approval'] === approval.id,
    );
    assert.equal(decided.length, approval.state === 'waiting' ? 0 : 1, `${where}: ${approval.id}`);
    if (decided[0] !== undefined) assert.equal(decided[0].body['decision'], approval.state, where);
    const said = entries.filter(
      (entry) => entry.type === 'tool.decided' && entry.body['approval'] === approval.id,
    );
    // A stop by a budget names the question that waited, and is no answer to it.
    if (approval.state === 'withdrawn')
      assert.deepEqual(
        said.map(({ body }) => body['answer']).filter((answer) => answer !== 'stop'),
        [],
        `${where}: what nobody answered decided a call`,
      );
    if (approval.state === 'approved') assert.ok(approval.approvedBy.length >= approval.people, where);
    assert.equal(new Set(approval.approvedBy).size, approval.approvedBy.length, where);
  }
}

async function checkStates(
  sessionId: string,
  entries: Awaited<ReturnType<typeof chainEntries>>,
  where: string,
  database: Transaction,
): Promise<void> {
  const states = await database.query<{ state: SessionState }>(
    `SELECT event ->> 'state' AS state FROM session_events WHERE session_id = $1 AND type = 'state' ORDER BY position`,
    [sessionId],
  );
  let at: SessionState = 'running';
  for (const { state } of states) {
    assert.ok(canTransition(sessionTransitions, at, state), `${where}: ${at} became ${state}`);
    at = state;
  }
  assert.equal(entries.at(-1)?.type === 'chain.closed', sessionHasEnded(at), where);
  const open = await record.database.query(
    `SELECT 1 FROM approvals WHERE session_id = $1 AND state = 'waiting'
     UNION ALL SELECT 1 FROM budget_extensions WHERE session_id = $1 AND state = 'waiting'`,
    [sessionId],
  );
  if (sessionHasEnded(at)) assert.deepEqual(open, [], `${where}: an ended session still asks`);
}
