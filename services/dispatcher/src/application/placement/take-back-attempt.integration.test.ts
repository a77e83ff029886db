import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { takeBackAttempt } from './take-back-attempt.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const untaken = { attempt: 1, serverId: 'server-a', kind: 'failed', why: 'server_unreachable' } as const;

async function standingOf(sessionId: string): Promise<unknown> {
  const [row] = await record.database.query(
    `SELECT s.state AS session, a.state AS attempt, s.server_id AS server
     FROM sessions s JOIN attempts a ON a.session_id = s.id WHERE s.id = $1`,
    [sessionId],
  );
  return row;
}

test('an attempt that its server did not take is closed, and its session waits again', async () => {
  const { sessionId } = await openTestSession(record, { state: 'starting' });
  assert.equal(await takeBackAttempt(record, { ...untaken, sessionId }), 'pending');
  assert.deepEqual(await standingOf(sessionId), { session: 'pending', attempt: 'lost', server: null });
  assert.equal(await takeBackAttempt(record, { ...untaken, sessionId }), 'moved');
});

test('an attempt whose server took it and reported it running, though its answer was lost, stays alive', async () => {
  const { sessionId } = await openTestSession(record, { state: 'running' });
  assert.equal(await takeBackAttempt(record, { ...untaken, sessionId }), 'taken');
  assert.deepEqual(await standingOf(sessionId), { session: 'running', attempt: 'live', server: 'server-a' });
});
