import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import type { Reservations } from '../../application/ports/reservations.ts';
import { startOwnRedis } from '../../testing/own-redis.ts';
import type { OwnRedis } from '../../testing/own-redis.ts';
import { createReservations } from './reservation.ts';

describe('the ledger of slots', () => {
  let own: OwnRedis;
  let redis: Redis;
  let ledger: Reservations;
  before(async () => {
    own = await startOwnRedis();
    redis = new Redis(own.url.href);
  });
  beforeEach(async () => {
    await redis.flushall();
    ledger = createReservations(redis, '{test:placement}', Math.random);
  });
  after(async () => {
    redis.disconnect();
    await own.remove();
  });

  const server = (serverId: string, capacity: number, sessions: string[] = [], gone: string[] = []) =>
    ledger.correct({ serverId, pool: 'default', capacity, sessions, gone });
  const reserve = (operation: string, exclude: string[] = [], pinned: string | null = null) =>
    ledger.reserve({ operation, pool: 'default', pinned, exclude });

  test('a burst fills servers of different size evenly by share', async () => {
    await Promise.all([server('a', 10), server('b', 20), server('c', 30)]);
    const got = await Promise.all(Array.from({ length: 60 }, (_, index) => reserve(`s${index}-g1-0`)));
    const counts = Map.groupBy(got, (each) => (each.kind === 'reserved' ? each.serverId : each.kind));
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => counts.get(name)?.length),
      [10, 20, 30],
    );
    assert.deepEqual(await reserve('one-more-g1-0'), { kind: 'full' });
    assert.equal(await ledger.freeSlots('default'), 0);
  });

  test('the same operation gets the same server again, and its release is one release', async () => {
    await Promise.all([server('a', 1), server('b', 1)]);
    const first = await reserve('s1-g1-0');
    assert.deepEqual(await reserve('s1-g1-0'), first);
    assert.equal(await ledger.freeSlots('default'), 1);
    await ledger.release('s1-g1-0');
    await ledger.release('s1-g1-0');
    assert.equal(await ledger.freeSlots('default'), 2);
  });

  test('excluded servers are passed over, also the emptiest', async () => {
    await Promise.all([server('a', 9), server('b', 9, ['x']), server('c', 9, ['x', 'y'])]);
    assert.deepEqual(await reserve('s1-g1-0', ['a', 'b']), { kind: 'reserved', serverId: 'c' });
    assert.deepEqual(await reserve('s2-g1-0', ['a', 'b', 'c']), { kind: 'full' });
  });

  test('among equals each is chosen at times', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => server(name, 1_000)));
    const chosen = new Set<string>();
    for (let round = 0; round < 60 && chosen.size < 4; round += 1) {
      const got = await reserve(`r${round}-g1-0`, ['a']);
      if (got.kind === 'reserved') chosen.add(got.serverId);
      await ledger.release(`r${round}-g1-0`);
    }
    assert.deepEqual([...chosen].sort(), ['b', 'c', 'd']);
  });

  test('a pinned wish gets its server or nothing', async () => {
    await Promise.all([server('a', 5), server('w', 1)]);
    assert.deepEqual(await reserve('s1-g1-0', [], 'w'), { kind: 'reserved', serverId: 'w' });
    assert.deepEqual(await reserve('s2-g1-0', [], 'w'), { kind: 'full' });
    assert.deepEqual(await reserve('s3-g1-0', [], 'nobody'), { kind: 'empty' });
  });

  test('a correction settles reservations of sessions that came, and of those that came and went', async () => {
    await server('a', 10);
    for (const name of ['s1', 's2', 's3']) await reserve(`${name}-g1-0`);
    assert.equal(await ledger.freeSlots('default'), 7);
    await server('a', 10, ['s1'], ['s2']);
    // s1 counts as itself, s2 not at all, s3 is still on its way.
    assert.equal(await ledger.freeSlots('default'), 8);
    await ledger.release('s1-g1-0');
    assert.equal(await ledger.freeSlots('default'), 8);
    await ledger.release('s3-g1-0');
    assert.equal(await ledger.freeSlots('default'), 9);
  });

  test('a withdrawn server is not chosen, and an empty ledger says that it is empty', async () => {
    assert.deepEqual(await reserve('s1-g1-0'), { kind: 'empty' });
    await server('a', 5);
    await ledger.withdraw('a');
    await ledger.withdraw('a');
    assert.deepEqual(await reserve('s1-g1-0'), { kind: 'empty' });
    await server('a', 5);
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
  });

  test('counts stay whole numbers over a thousand steps', async () => {
    await server('a', 3);
    for (let round = 0; round < 1_000; round += 1) {
      await reserve(`r${round}-g1-0`);
      await ledger.release(`r${round}-g1-0`);
    }
    assert.equal(await redis.zscore('{test:placement}:load:default', 'a'), '0');
  });

  test('a reservation that nobody settles expires', async () => {
    await server('a', 1);
    await reserve('s1-g1-0');
    await redis.zadd('{test:placement}:expiries', 1, 's1-g1-0');
    assert.equal((await reserve('s2-g1-0')).kind, 'reserved');
  });

  test('a server with its own pool is no choice for another', async () => {
    await ledger.correct({ serverId: 'w', pool: 'pinned', capacity: 5, sessions: [], gone: [] });
    assert.deepEqual(await reserve('s1-g1-0'), { kind: 'empty' });
    await ledger.correct({ serverId: 'w', pool: 'default', capacity: 5, sessions: [], gone: [] });
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
  });
});
