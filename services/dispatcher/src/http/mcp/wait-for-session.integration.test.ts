import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { maxWaitSeconds } from '@lemniscate/shared/api/session.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { sessionAnswer } from './session-tools.ts';
import { waitForSession } from './wait-for-session.ts';
import type { SessionProgress } from './wait-for-session.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

/** A clock that runs this many times as fast as ours. */
function fastClock(times: number): Clock {
  const [began, from] = [performance.now(), Date.parse('2026-01-01T00:00:00Z')];
  const monotonicMs = (): number => (performance.now() - began) * times;
  return { monotonicMs, now: () => new Date(from + monotonicMs()) };
}

test('who waits hears of it all the time, and after eleven minutes gets the session as it then is', async () => {
  const { sessionId } = await openTestSession(record);
  const clock = fastClock(400);
  const askedAt = clock.now().getTime();
  const heard: SessionProgress[] = [];
  const session = await waitForSession(
    { ...record, clock },
    sessionId,
    askedAt,
    new AbortController().signal,
    (progress) => {
      heard.push(progress);
      return Promise.resolve();
    },
  );
  const waited = (clock.now().getTime() - askedAt) / 1_000;
  assert.ok(waited >= maxWaitSeconds, `${waited} s`);
  assert.equal(session?.state, 'running');
  assert.match(JSON.stringify(sessionAnswer(session)), new RegExp(`get_session with id ${sessionId}`));
  assert.ok(heard.length >= 1);
  assert.ok(
    heard.every(({ progress }, index) => index === 0 || progress > (heard[index - 1]?.progress ?? 0)),
    'progress only grows',
  );
  assert.match(heard[0]?.message ?? '', new RegExp(`^session ${sessionId} is running`));
});

test('an end is told at once, whatever the clock says, and who has gone is told nothing', async () => {
  const { sessionId } = await openTestSession(record);
  const gone = new AbortController();
  const waiting = (signal: AbortSignal) =>
    waitForSession({ ...record }, sessionId, Date.now(), signal, () => Promise.resolve());
  const left = waiting(gone.signal);
  const stayed = waiting(new AbortController().signal);
  gone.abort();
  assert.equal(await left, null);
  await record.database.query(
    `UPDATE sessions SET state = 'completed', reason = 'finished', ended_at = now() WHERE id = $1`,
    [sessionId],
  );
  const session = await stayed;
  assert.equal(session?.state, 'completed');
  assert.doesNotMatch(JSON.stringify(session === null ? null : sessionAnswer(session)), /It goes on/);
});

test('a call that is taken up again late has only what is left of its time', async () => {
  const { sessionId } = await openTestSession(record);
  const began = performance.now();
  const session = await waitForSession(
    record,
    sessionId,
    Date.now() - (maxWaitSeconds + 1) * 1_000,
    new AbortController().signal,
    () => Promise.reject(new Error('there is nothing left to tell of')),
  );
  assert.equal(session?.id, sessionId);
  assert.ok(performance.now() - began < 60_000);
});
