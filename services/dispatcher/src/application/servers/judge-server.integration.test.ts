import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createDatabase } from '../../adapters/postgres/database.ts';
import { migrate } from '../../adapters/postgres/migrations.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import { noteStarted, noteStartFailure } from './judge-server.ts';
import { findServer, usableCapacity } from './server-row.ts';

const capacity = 9;

/** Servers a, b and c that report nine slots each. */
async function open(t: TestContext) {
  const own = await createTestDatabase();
  t.after(() => own.drop());
  await migrate(own.url, () => undefined);
  const database = createDatabase({
    url: own.url,
    connections: 5,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
  });
  t.after(() => database.close());
  const status = JSON.stringify({ protocol: 1, draining: false, capacity });
  await database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity, status, seen_at)
     SELECT id, 'https://' || id || ':1', 'default', $1, $2, now() FROM unnest($3::text[]) AS id`,
    [capacity, status, ['a', 'b', 'c']],
  );
  return {
    database,
    fail: (serverId: string, sessionId: string) =>
      database.transaction((tx) => noteStartFailure(tx, { serverId, sessionId, how: 'cut' })),
    seen: async (serverId: string) => {
      const [row] = await database.query<{ failures: number; rest: number | null }>(
        `SELECT start_failures AS failures, round(extract(epoch FROM excluded_until - last_failure_at))::int AS rest
         FROM agent_servers WHERE id = $1`,
        [serverId],
      );
      return row;
    },
    usable: async (serverId: string) => {
      const row = await findServer(database, serverId);
      return row === null ? null : usableCapacity(row);
    },
    endRests: () => database.query(`UPDATE agent_servers SET excluded_until = now() - interval '1 second'`),
  };
}

test('what fails in one incident counts as one, and the next one after it doubles the rest', async (t) => {
  const { fail, seen, endRests } = await open(t);
  await fail('a', 's1');
  await fail('a', 's2');
  assert.deepEqual(await seen('a'), { failures: 2, rest: null });
  for (let orders = 3; orders < 13; orders += 1) await fail('a', `s${orders}`);
  const out = await seen('a');
  assert.equal(out?.failures, 3);
  assert.ok((out.rest ?? 0) <= 15);
  await endRests();
  await fail('a', 's20');
  assert.deepEqual(await seen('a'), { failures: 4, rest: 30 });
});

test('a session that fails again on the same server counts once', async (t) => {
  const { fail, seen } = await open(t);
  for (let tries = 0; tries < 4; tries += 1) await fail('a', 's1');
  assert.deepEqual(await seen('a'), { failures: 1, rest: null });
});

test('three sessions that fail wherever they go take no server out and put none on probation', async (t) => {
  const { fail, usable, endRests } = await open(t);
  const poison = ['s1', 's2', 's3'];
  for (const session of poison) await fail('a', session);
  assert.equal(await usable('a'), 0, 'so far it looks like the server');
  for (const session of poison) await fail('b', session);
  assert.deepEqual([await usable('a'), await usable('b')], [capacity, capacity]);
  for (const session of poison) await fail('c', session);
  await endRests();
  assert.deepEqual(
    [await usable('a'), await usable('b'), await usable('c')],
    [capacity, capacity, capacity],
    'nor is there a probation after a rest',
  );
});

test('a server on which different sessions fail leaves though a bad session fails there too, and comes back by one that starts', async (t) => {
  const { database, fail, usable, endRests } = await open(t);
  await fail('b', 'bad');
  await fail('a', 'bad');
  for (const session of ['s1', 's2', 's3']) await fail('a', session);
  assert.deepEqual([await usable('a'), await usable('b')], [0, capacity]);
  await endRests();
  assert.equal(await usable('a'), 1);
  await noteStarted(database, 'a');
  assert.equal(await usable('a'), capacity);
  await fail('a', 's4');
  assert.equal(await usable('a'), capacity, 'what was before counts no more');
});

test('a pool in which no session starts anywhere leaves as well, only later', async (t) => {
  const { fail, usable } = await open(t);
  for (let session = 1; session <= 8; session += 1)
    for (const server of ['a', 'b', 'c']) await fail(server, `s${session}`);
  assert.deepEqual([await usable('a'), await usable('b'), await usable('c')], [capacity, capacity, capacity]);
  for (const server of ['a', 'b', 'c']) await fail(server, 's9');
  assert.deepEqual([await usable('a'), await usable('b'), await usable('c')], [0, 0, 0]);
});

test('failures that weigh little are forgotten by a server on which sessions run', async (t) => {
  const { database, fail, seen } = await open(t);
  for (let session = 1; session <= 12; session += 1) {
    for (const server of ['a', 'b']) await fail(server, `s${session}`);
    await noteStarted(database, 'b');
  }
  assert.deepEqual(await seen('b'), { failures: 0, rest: null });
});
