import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPlacementQueue } from '../../adapters/queue/placement-queue.ts';
import type { RunningPlacementQueue } from '../../adapters/queue/placement-queue.ts';
import { closeRedis, connectRedis } from '../../adapters/redis/connection.ts';
import { createReservations } from '../../adapters/redis/reservation.ts';
import { testVariable } from '../../testing/test-variable.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import type { Reservations } from '../ports/reservations.ts';
import { admitSessions } from './admit-sessions.ts';
import { maxLanes } from './waiting-sessions.ts';

let record: TestRecord;
let redis: ReturnType<typeof connectRedis>;
let queue: RunningPlacementQueue;
let reservations: Reservations;
before(async () => {
  record = await createTestRecord();
  const url = new URL(testVariable('LEMNISCATE_TEST_REDIS_URL'));
  redis = connectRedis(url, () => undefined);
  const prefix = record.newId('session');
  queue = createPlacementQueue({ url, redis, prefix, pools: ['default'], log: record.log, concurrency: 1 });
  reservations = createReservations(redis, `{${prefix}}`, Math.random);
  await reservations.rebuild([
    {
      serverId: 'one',
      pool: 'default',
      capacity: 10,
      tokens: ['label=gpu'],
      warm: 0,
      mirrors: [],
      starting: 0,
      report: 1,
      startingLimit: 10,
      sessions: [],
      gone: [],
    },
  ]);
});
after(async () => {
  await queue.close(5_000);
  await closeRedis(redis, 1_000);
  await record.close();
});

/** One session each of so many projects at their cap. */
async function fillCapped(count: number): Promise<string> {
  const { sessionId } = await openTestSession(record);
  await record.database.query(
    `INSERT INTO projects (id, policy, policy_digest, max_concurrent)
     SELECT 'capped-' || lpad(n::text, 4, '0'), policy, policy_digest, 0 FROM generate_series(1, $1::int) AS n, projects
     WHERE id = 'local'`,
    [count],
  );
  await record.database.query(`DELETE FROM outbox WHERE session_id = $1`, [sessionId]);
  await record.database.query(
    `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
       execution, opened_by, policy, policy_digest)
     SELECT 's_' || projects.id, projects.id, 'pending', 'queued', instruction, repository, runtime, model, surface,
       interactive, execution, opened_by, template.policy, template.policy_digest
     FROM projects, sessions template WHERE template.id = $1 AND projects.id LIKE 'capped-%'`,
    [sessionId],
  );
  await record.database.query(
    `INSERT INTO outbox (session_id, generation) SELECT id, 1 FROM sessions WHERE id LIKE 's_capped-%'`,
  );
  return sessionId;
}

test('a run over many projects at their caps goes around once, and finds the one behind them', async () => {
  const last = await fillCapped(2 * maxLanes + 10);
  let bites = 0;
  const deps = {
    queue,
    reservations,
    database: {
      query: record.database.query.bind(record.database),
      transaction: <Result>(work: Parameters<typeof record.database.transaction<Result>>[0]) => {
        bites += 1;
        // A run that goes around for ever ends here.
        assert.ok(bites <= 12, 'it goes around once');
        return record.database.transaction(work);
      },
    },
    rebuildLedger: () => Promise.reject(new Error('the ledger is whole')),
    endPinned: () => Promise.reject(new Error('nothing is pinned')),
  };
  await admitSessions(deps, 'default');
  assert.equal(await queue.waiting('default'), 0);
  // Behind all of them by its name, and then in a class of its own.
  for (const placementClass of ['default', 'default;label=gpu']) {
    bites = 0;
    await record.database.query(
      `UPDATE sessions SET state = 'pending', phase = 'queued', placement_class = $2, generation = generation + 1
       WHERE id = $1`,
      [last, placementClass],
    );
    await record.database.query(
      'INSERT INTO outbox (session_id, generation) SELECT id, generation FROM sessions WHERE id = $1',
      [last],
    );
    await admitSessions(deps, 'default');
    const [row] = await record.database.query('SELECT phase FROM sessions WHERE id = $1', [last]);
    assert.deepEqual(row, { phase: 'admitted' }, placementClass);
  }
});

test('rows of sessions that wait no more take no slot from one that waits behind them', async () => {
  // A crash of Postgres brought back what their admission had deleted; there are more of them than slots.
  const ended: string[] = [];
  for (let count = 0; count < 14; count += 1) ended.push((await openTestSession(record)).sessionId);
  const { sessionId } = await openTestSession(record);
  await record.database.query(`UPDATE sessions SET state = 'pending', phase = 'queued' WHERE id = $1`, [
    sessionId,
  ]);
  for (const id of [...ended, sessionId])
    await record.database.query('INSERT INTO outbox (session_id, generation) VALUES ($1, 1)', [id]);
  const { database } = record;
  const nobody = () => Promise.reject(new Error('nobody asks for it'));
  await admitSessions({ queue, reservations, database, rebuildLedger: nobody, endPinned: nobody }, 'default');
  const [row] = await database.query('SELECT phase FROM sessions WHERE id = $1', [sessionId]);
  assert.deepEqual(row, { phase: 'admitted' });
  const left = await database.query('SELECT FROM outbox WHERE session_id = ANY($1)', [ended]);
  assert.equal(left.length, 0);
});
