import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { liftClamp } from './judge-server.ts';
import { findServer, usableCapacity } from './server-row.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

test('a newcomer has one slot until three sessions have brought a result there', async () => {
  const { database } = record;
  await database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity, clamp, seen_at, status)
     VALUES ('server-a', 'https://a:1', 'default', 4, 1, now(), '{"protocol": 1, "capacity": 4, "draining": false}')`,
  );
  const usable = async (): Promise<number> => {
    const row = (await findServer(database, 'server-a')) ?? assert.fail();
    assert.equal(usableCapacity(await liftClamp(database, row)), usableCapacity(await stored()));
    return usableCapacity(await stored());
  };
  const stored = async () => (await findServer(database, 'server-a')) ?? assert.fail();
  const end = async (state: 'ended' | 'lost', digest: string | null): Promise<void> => {
    const { sessionId } = await openTestSession(record);
    await database.query(
      'UPDATE attempts SET state = $2, ended_at = now(), result_digest = $3 WHERE session_id = $1',
      [sessionId, state, digest],
    );
  };
  assert.equal(await usable(), 1);
  const steps: readonly (readonly ['ended' | 'lost', string | null, number])[] = [
    ['ended', 'one', 1],
    ['ended', 'two', 1],
    ['lost', null, 1],
    // Ended by somebody, without a word of the server.
    ['ended', null, 1],
    ['ended', 'three', 4],
  ];
  for (const [state, digest, slots] of steps) {
    await end(state, digest);
    assert.equal(await usable(), slots, `${state} with ${digest}`);
  }
});
