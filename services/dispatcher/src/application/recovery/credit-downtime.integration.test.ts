import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { turnBack } from '../../testing/traffic/turn-back.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import { selectSessionViews } from '../sessions/session-view.ts';
import { tickFleet } from './credit-downtime.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());
beforeEach(async () => {
  await record.database.query('UPDATE fleet_watch SET ticked_at = NULL');
  await record.database.query('DELETE FROM fleet_absences');
  await record.database.query(`UPDATE attempts SET state = 'ended' WHERE state = 'live'`);
});

/** Longer than in a fleet: turning a record's time back takes its own on a busy machine. */
const normalGapMs = 20_000;
const tick = () => tickFleet({ ...record, leaseMs: 15_000, normalGapMs });
const pass = (ms: number) => turnBack(record.url, ms);
/** Sessions of tests have leases of an hour, which no fleet gives. */
const endLeases = () => record.database.query('UPDATE attempts SET lease_expires_at = now()');
const absences = () =>
  record.database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM until - since) * 1000)::float8 AS ms FROM fleet_absences ORDER BY since`,
  );
const agoMs = async (spanMs: number): Promise<number> => {
  const [row] = await record.database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM now() - fleet_ago($1 * interval '1 millisecond')) * 1000)::float8 AS ms`,
    [spanMs],
  );
  return row?.ms ?? Number.NaN;
};
/** What the test itself takes counts as well. */
function near(actual: number | undefined, expected: number): void {
  assert.ok(
    actual !== undefined && actual >= expected && actual < expected + normalGapMs,
    `${actual} for ${expected}`,
  );
}

test('ordinary distances are no absence, and nobody is credited for what somebody watched', async () => {
  await tick();
  await pass(3_000);
  await tick();
  // One dispatcher was away, or has just been started; the other ticked all the time.
  for (let second = 0; second < 20; second += 3) {
    await pass(3_000);
    await tick();
  }
  assert.deepEqual(await absences(), []);
});

test('an absence is credited once, whoever of those that come back is first, and exactly', async () => {
  const claim = await openTestSession(record);
  await record.database.query(
    `UPDATE attempts SET lease_expires_at = now() + interval '15 seconds' WHERE session_id = $1`,
    [claim.sessionId],
  );
  await tick();
  const deadline = async () => {
    const [row] = await record.database.query<{ start: number; lives: boolean }>(
      `SELECT extract(epoch FROM start_deadline - now())::float8 AS start, lease_expires_at > now() AS lives
       FROM attempts WHERE session_id = $1`,
      [claim.sessionId],
    );
    return row;
  };
  await pass(300_000);
  assert.deepEqual((await deadline())?.lives, false);
  await Promise.all(Array.from({ length: 8 }, tick));
  const rows = await absences();
  assert.equal(rows.length, 1);
  near(rows[0]?.ms, 300_000);
  const after = await deadline();
  assert.ok(after?.lives);
  assert.ok(Math.abs(after.start - 3_600) < 5, `an hour is left as before: ${after.start}`);
});

test('the clock of deadlines stands still from the first moment of an absence, before anybody has credited it', async () => {
  await tick();
  await pass(300_000);
  near(await agoMs(0), 300_000);
  near(await agoMs(10_000), 310_000);
  await tick();
  const right = await agoMs(0);
  assert.ok(right < 10_000, `${right}`);
});

test('what lasted longer than an absence is as old as it was watched, over several absences', async () => {
  await tick();
  for (const absenceMs of [600_000, 1_000_000]) {
    await pass(absenceMs);
    await tick();
    await pass(3_000);
    await tick();
  }
  near(await agoMs(2_000), 2_000);
  const [beyond] = await record.database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM max(since) - fleet_ago(now() - max(until) + interval '1 second')) * 1000)::float8 AS ms
     FROM fleet_absences`,
  );
  assert.equal(beyond?.ms, 1_000, 'a second before the younger one');
  near(await agoMs(100_000), 1_700_000);
});

test('minutes of work are those in which somebody watched, before the credit and after it, and only once', async () => {
  const claim = await openTestSession(record);
  await endLeases();
  await tick();
  await pass(300_000);
  near(await readWaitedMs(record.database, claim.sessionId), 300_000);
  await tick();
  near(await readWaitedMs(record.database, claim.sessionId), 300_000);
  // It begins to run after the absence: what was then is none of its waiting.
  const later = await openTestSession(record);
  assert.equal(await readWaitedMs(record.database, later.sessionId), 0);
});

test('a lease renewed since the last tick proves that a dispatcher was there which does not tick', async () => {
  const claim = await openTestSession(record);
  await tick();
  await pass(3_600_000);
  await record.database.query(
    `UPDATE attempts SET lease_expires_at = now() - interval '35 seconds' WHERE session_id = $1`,
    [claim.sessionId],
  );
  await tick();
  near((await absences())[0]?.ms, 50_000);
});

test('a session’s view shows no minute of an absence as used, neither before the credit nor behind it', async () => {
  const claim = await openTestSession(record);
  await record.database.query(
    `UPDATE sessions SET running_at = clock_timestamp(), budget_from = NULL WHERE id = $1`,
    [claim.sessionId],
  );
  const used = async (): Promise<number> => {
    const [view] = await selectSessionViews(record.database, {
      where: 'id = $1',
      values: [claim.sessionId],
      limit: 1,
    });
    return view?.budget?.minutesUsed ?? Number.NaN;
  };
  await tick();
  await endLeases();
  await pass(10 * 60_000);
  assert.ok((await used()) < 1, `${await used()} minutes before anybody came back`);
  await tick();
  assert.ok((await used()) < 1, `${await used()} minutes after the credit`);
});
