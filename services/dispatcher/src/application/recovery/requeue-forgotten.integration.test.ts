import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPlacementQueue } from '../../adapters/queue/placement-queue.ts';
import type { RunningPlacementQueue } from '../../adapters/queue/placement-queue.ts';
import { closeRedis, connectRedis } from '../../adapters/redis/connection.ts';
import { testVariable } from '../../testing/test-variable.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { createBacklogWalk, requeueForgotten } from './requeue-forgotten.ts';

let record: TestRecord;
let redis: ReturnType<typeof connectRedis>;
let queue: RunningPlacementQueue;
before(async () => {
  record = await createTestRecord();
  const url = new URL(testVariable('LEMNISCATE_TEST_REDIS_URL'));
  redis = connectRedis(url, () => undefined);
  const prefix = record.newId('session');
  queue = createPlacementQueue({ url, redis, prefix, pools: ['default'], log: record.log, concurrency: 1 });
});
after(async () => {
  await queue.close(5_000);
  await closeRedis(redis, 1_000);
  await record.close();
});

/** Sessions that wait with their rows in the backlog, all of one moment, as a crowd opens them. */
async function fill(count: number): Promise<void> {
  const { sessionId } = await openTestSession(record);
  await record.database.query(
    `WITH added AS (
       INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
         execution, opened_by, policy, policy_digest, queued_at)
       SELECT 's_waiting' || lpad(n::text, 5, '0'), 'local', 'pending', 'queued', instruction, repository, runtime, model,
         surface, interactive, execution, opened_by, policy, policy_digest, now() - interval '1 minute'
       FROM generate_series(1, $2::int) AS n, sessions template WHERE template.id = $1 RETURNING id
     ) SELECT count(*) FROM added`,
    [sessionId, count],
  );
  await record.database.query(
    `INSERT INTO outbox (session_id, generation) SELECT id, 1 FROM sessions WHERE id LIKE 's_waiting%'`,
  );
}

const forget = (id: string, phase: 'queued' | 'admitted') =>
  record.database.query(
    `WITH gone AS (DELETE FROM outbox WHERE session_id = $1) UPDATE sessions SET phase = $2 WHERE id = $1`,
    [id, phase],
  );
const generationsOf = (id: string) =>
  record.database.query<{ generation: number }>('SELECT generation FROM outbox WHERE session_id = $1', [id]);

test('a walk finds what nothing holds on to, a thousand of the backlog at a time, and begins anew', async () => {
  await fill(2_500);
  const deps = { ...record, queue };
  const walk = createBacklogWalk(deps);
  await forget('s_waiting02400', 'queued');
  assert.equal(await requeueForgotten(deps), 0, 'it is not marked as admitted');
  assert.deepEqual([await walk(), await walk(), await walk()], [0, 0, 1]);
  assert.deepEqual(await generationsOf('s_waiting02400'), [{ generation: 2 }]);
  await forget('s_waiting00001', 'queued');
  await forget('s_waiting01000', 'queued');
  await forget('s_waiting01001', 'queued');
  assert.deepEqual([await walk(), await walk(), await walk()], [2, 1, 0]);
});

test('one that is marked as admitted comes back at once, unless its job is there', async () => {
  const deps = { ...record, queue };
  await forget('s_waiting00002', 'admitted');
  await forget('s_waiting00003', 'admitted');
  await queue.add('default', [
    {
      sessionId: 's_waiting00003',
      generation: 1,
      placementClass: 'default',
      serverId: 'server-a',
      operation: 's_waiting00003-g1-0',
      failures: [],
    },
  ]);
  assert.equal(await requeueForgotten(deps), 1);
  assert.deepEqual(await generationsOf('s_waiting00002'), [{ generation: 2 }]);
  assert.deepEqual(await generationsOf('s_waiting00003'), []);
});
