import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { turnBack } from '../../testing/traffic/turn-back.ts';
import { expireApprovals } from '../../jobs/approval-expiry.ts';
import { stopOverdue } from '../../jobs/budget-watch.ts';
import { expireExtensions } from '../budgets/decide-extension.ts';
import { watchEnvironments } from '../environments/watch-environments.ts';
import { finishIdle } from '../messages/send-message.ts';
import { resumeAnswered } from '../pausing/resume-answered.ts';
import { tickFleet } from './credit-downtime.ts';
import { createMassExpiryGuard } from './mass-expiry.ts';
import { moveDrained } from './move-drained.ts';
import { reapAttempts } from './reap-attempts.ts';

// Five minutes without PostgreSQL or any dispatcher, for everything that may run out: all have a minute left, or less than
// that was used.

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
  await record.database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ('server-a', 'https://127.0.0.1:1', 'default', 9),
       ('server-b', 'https://127.0.0.1:2', 'default', 9)`,
  );
});
after(() => record.close());

const secondsLeft = 60;
const outageMs = 5 * 60_000;
const deps = () => ({
  ...record,
  leaseMs: 15_000,
  normalGapMs: 4_000,
  graceMs: 5_000,
  maxLosses: 2,
  queueMaxWaitSeconds: 7_200,
  maxPauseSeconds: secondsLeft,
  guard: createMassExpiryGuard(record.clock, 60_000),
  settleUsage: () => Promise.resolve(),
  servers: {
    place: () => Promise.resolve({ kind: 'taken' as const }),
    destroy: () => undefined,
    pause: () => undefined,
    interrupt: () => Promise.resolve(),
  },
});

/** Everything that looks for what has run out. */
async function look(): Promise<void> {
  await reapAttempts(deps());
  await expireApprovals(deps());
  await expireExtensions(deps());
  await finishIdle(deps());
  await resumeAnswered(deps());
  await stopOverdue(deps());
  await moveDrained(deps());
  await watchEnvironments(deps());
}

const soon = `now() + ${secondsLeft} * interval '1 second'`;
const sql = (text: string, values: readonly unknown[] = []) => record.database.query(text, values);

/** Sessions that wait for a slot or an environment, for a person, are paused, or work; each by its name. */
async function openAll(): Promise<ReadonlyMap<string, string>> {
  const open = async (name: string, options: Parameters<typeof openTestSession>[1] = {}) => {
    const { sessionId } = await openTestSession(record, options);
    names.set(sessionId, name);
    return sessionId;
  };
  const names = new Map<string, string>();
  const queue = (id: string) =>
    sql(
      `WITH ended AS (UPDATE attempts SET state = 'lost' WHERE session_id = $1)
       UPDATE sessions SET state = 'pending', phase = 'queued', server_id = NULL, queued_at = now(), running_at = NULL WHERE id = $1`,
      [id],
    );
  await queue(await open('waits for a slot'));
  await sql('UPDATE projects SET max_wait_seconds = $1', [secondsLeft]);
  const environment = await open('waits for an environment', {
    policy: { environment: { onMissing: 'wait', waitMinutes: 1, prepare: 'true' } },
  });
  await queue(environment);
  await sql(`UPDATE sessions SET waits_for_environment = 'e' WHERE id = $1`, [environment]);
  const digest = '1'.repeat(64);
  const approval = await open('waits for an approval', { interactive: true });
  await sql(
    `INSERT INTO approvals (id, session_id, call_id, arguments_digest, policy_digest, tool, title, arguments, reasons, state,
       people, pattern, expires_at) VALUES ('a-1', $1, 'c', $2, $2, 'run_command', 't', '{}', '[]', 'waiting', 1, '', ${soon})`,
    [approval, digest],
  );
  const extension = await open('waits for an extension', { interactive: true });
  await sql(
    `INSERT INTO budget_extensions (session_id, number, cause, state, used, grants, expires_at)
     VALUES ($1, 1, 'time_budget', 'waiting', '{}', '{}', ${soon})`,
    [extension],
  );
  const message = await open('waits for a message', { interactive: true });
  await sql(
    `INSERT INTO session_messages (session_id, number, state, asked_at, expires_at) VALUES ($1, 1, 'awaited', now(), ${soon})`,
    [message],
  );
  const paused = await open('was paused by a person');
  await sql(
    `WITH ended AS (UPDATE attempts SET state = 'ended' WHERE session_id = $1),
       span AS (INSERT INTO session_pauses (session_id, number, reason) VALUES ($1, 1, 'by_person'))
     UPDATE sessions SET state = 'paused', phase = 'stored', reason = 'by_person', server_id = NULL WHERE id = $1`,
    [paused],
  );
  await open('works', { policy: { budgets: { maxMinutes: 1 } } });
  const drained = await open('works on a drained server');
  await sql(`UPDATE sessions SET server_id = 'server-b' WHERE id = $1`, [drained]);
  await sql(`UPDATE attempts SET server_id = 'server-b' WHERE session_id = $1`, [drained]);
  await sql(`UPDATE agent_servers SET drained_at = now(), drain_deadline = ${soon} WHERE id = 'server-b'`);
  await open('starts', { state: 'starting' });
  await sql(
    `UPDATE attempts SET lease_expires_at = now() + interval '15 seconds', start_deadline = ${soon} WHERE state = 'live'`,
  );
  return names;
}

/** By name, all that something runs out by: how it is now. */
async function states(names: ReadonlyMap<string, string>): Promise<Record<string, string>> {
  const rows = await record.database.query<{ id: string; words: string }>(
    `SELECT s.id, concat_ws(' ', s.state, s.stop_reason, s.losses::text, s.pause_requested, (SELECT a.state FROM approvals a WHERE a.session_id = s.id),
       (SELECT e.state FROM budget_extensions e WHERE e.session_id = s.id),
       (SELECT m.state FROM session_messages m WHERE m.session_id = s.id)) AS words FROM sessions s`,
  );
  return Object.fromEntries(rows.map(({ id, words }) => [names.get(id) ?? id, words]));
}

test('nothing runs out in five minutes without anybody there, whoever looks first, and all of it does afterwards', async () => {
  const names = await openAll();
  await tickFleet(deps());
  await look();
  const before = await states(names);
  assert.equal(Object.keys(before).length, names.size);
  await turnBack(record.url, outageMs);
  // The looks of one dispatcher may come before the credit of another.
  await look();
  assert.deepEqual(await states(names), before);
  await tickFleet(deps());
  await look();
  assert.deepEqual(await states(names), before);
  // With somebody there the same time runs out.
  for (let second = 0; second < 70; second += 3) {
    await turnBack(record.url, 3_000);
    await tickFleet(deps());
    await record.database.query(
      `UPDATE attempts SET lease_expires_at = now() + interval '15 seconds' WHERE state = 'live'`,
    );
  }
  await look();
  const afterwards = await states(names);
  const left = Object.keys(before).filter((name) => afterwards[name] === before[name]);
  assert.deepEqual(left, []);
});
