import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { listPools, poolFamilies } from './list-pools.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

test('what a scaler reads of a pool: wanted slots, age of the queue, warm misses, what is held', async () => {
  const { database } = record;
  const add = (id: string, pool: string, status: object): Promise<unknown> =>
    database.query(
      `INSERT INTO agent_servers (id, url, pool, capacity, seen_at, status) VALUES ($1, 'https://' || $1, $2, 10, now(), $3)`,
      [id, pool, JSON.stringify({ protocol: 1, capacity: 10, draining: false, ...status })],
    );
  // The second of these was ordered after the server's last word.
  const [first] = [await openTestSession(record), await openTestSession(record)];
  await add('server-a', 'default', {
    held: [
      { sessionId: first.sessionId, attempt: 1 },
      { sessionId: 'in-its-last-moments', attempt: 1 },
    ],
    warm: 1,
    coldStarts: 5,
  });
  await add('server-b', 'default', { held: [], warm: 2, coldStarts: 2 });
  await add('server-c', 'gpu', { held: [], warm: 0, coldStarts: 9 });
  await database.query(
    `INSERT INTO queue_book (placement_class, lanes, starts_per_second, looked_at)
     VALUES ('default', '[{"name": "p", "waiting": 4, "weight": 1}, {"name": "q", "waiting": 2, "weight": 1}]', 1, now())`,
  );
  const waits = await openTestSession(record, { state: 'starting' });
  await database.query(`UPDATE sessions SET server_id = NULL WHERE id = $1`, [waits.sessionId]);
  await database.query(`DELETE FROM attempts WHERE session_id = $1`, [waits.sessionId]);
  await database.query(
    `INSERT INTO outbox (session_id, generation, created_at) VALUES ($1, 1, now() - interval '42 seconds')`,
    [waits.sessionId],
  );
  await database.query(`UPDATE outbox SET placement_class = 'default'`);
  const families = poolFamilies(await listPools(database));
  const of = (name: string, pool: string): number | undefined =>
    families.find((family) => family.name === name)?.points.find(({ labels }) => labels?.['pool'] === pool)
      ?.value;
  assert.equal(of('lemniscate_pool_held', 'default'), 3);
  // Three that are held and six that wait, with 15% room.
  assert.equal(of('lemniscate_pool_wanted_slots', 'default'), 11);
  assert.equal(of('lemniscate_pool_wanted_servers', 'default'), 2);
  assert.equal(of('lemniscate_pool_warm_misses', 'default'), 7);
  assert.equal(of('lemniscate_pool_warm_sandboxes', 'default'), 3);
  assert.equal(of('lemniscate_pool_waiting', 'default'), 6);
  const age = of('lemniscate_pool_queue_age_seconds', 'default') ?? -1;
  assert.ok(age >= 42 && age <= 50, `${age}`);
  assert.deepEqual(
    ['held', 'wanted_slots', 'warm_misses', 'queue_age_seconds', 'slots'].map((name) =>
      of(`lemniscate_pool_${name}`, 'gpu'),
    ),
    [0, 0, 9, 0, 10],
  );
});
