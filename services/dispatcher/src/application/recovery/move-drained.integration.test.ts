import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { moveDrained } from './move-drained.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
  await record.database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ('server-a', 'https://127.0.0.1:1', 'default', 9)`,
  );
});
after(() => record.close());

const told: string[] = [];
const deps = () => ({
  ...record,
  maxLosses: 0,
  settleUsage: () => Promise.resolve(),
  servers: {
    place: () => Promise.resolve({ kind: 'taken' as const }),
    destroy: () => undefined,
    interrupt: () => Promise.resolve(),
    pause: (_server: string, held: { sessionId: string }, reason: string) =>
      void told.push(`${held.sessionId} ${reason}`),
  },
});
/** @param seconds how long ago the deadline was; null: the server is used again */
const drained = (seconds: number | null) =>
  record.database.query(
    `UPDATE agent_servers SET drain_deadline = now() - make_interval(secs => $1) WHERE id = 'server-a'`,
    [seconds],
  );
const stateOf = async (id: string): Promise<string> => {
  const [row] = await record.database.query<{ words: string }>(
    `SELECT concat_ws(' ', state, pause_requested, losses::text) AS words FROM sessions WHERE id = $1`,
    [id],
  );
  return row?.words ?? '';
};

test('what works is told once and cut off after a minute; what stores itself has five; nobody is charged', async () => {
  const slow = await openTestSession(record);
  const storing = await openTestSession(record);
  const starting = await openTestSession(record, { state: 'starting' });
  const foreign = await openTestSession(record);
  const person = await openTestSession(record);
  const set = (id: string, assignment: string) =>
    record.database.query(`UPDATE sessions SET ${assignment} WHERE id = $1`, [id]);
  await set(foreign.sessionId, `runtime = 'acp'`);
  await set(person.sessionId, `pause_requested = 'by_person'`);
  const states = () =>
    Promise.all([slow, storing, starting, foreign, person].map(({ sessionId }) => stateOf(sessionId)));

  await drained(-30);
  await moveDrained(deps());
  const untouched = ['running 0', 'running 0', 'starting 0', 'running 0', 'running by_person 0'];
  assert.deepEqual(await states(), untouched);

  await drained(1);
  await moveDrained(deps());
  await moveDrained(deps());
  const begun = ['running drained 0', 'running drained 0', 'pending 0', 'pending 0', 'running by_person 0'];
  assert.deepEqual(await states(), begun);
  assert.deepEqual(
    told.toSorted(),
    [slow, storing].map(({ sessionId }) => `${sessionId} drained`).toSorted(),
  );

  await drained(null);
  await moveDrained(deps());
  assert.deepEqual((await states()).slice(0, 2), ['running 0', 'running 0'], 'the word is taken back');

  await set(storing.sessionId, `phase = 'pausing'`);
  await drained(61);
  await moveDrained(deps());
  assert.deepEqual(await states(), [
    'pending 0',
    'running drained 0',
    'pending 0',
    'pending 0',
    'pending by_person 0',
  ]);
  await drained(301);
  await moveDrained(deps());
  assert.equal(await stateOf(storing.sessionId), 'pending 0');
});
