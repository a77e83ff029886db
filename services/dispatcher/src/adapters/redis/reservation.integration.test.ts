import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import type { Reservations } from '../../application/ports/reservations.ts';
import { startOwnRedis } from '../../testing/own-redis.ts';
import type { OwnRedis } from '../../testing/own-redis.ts';
import { createReservations } from './reservation.ts';

const plain = {
  report: 1,
  pool: 'default',
  tokens: [],
  warm: 0,
  mirrors: [],
  starting: 0,
  startingLimit: 100_000,
};

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
    await ledger.rebuild([]);
  });
  after(async () => {
    redis.disconnect();
    await own.remove();
  });

  const server = (serverId: string, capacity: number, sessions: string[] = [], gone: string[] = []) =>
    ledger.correct({ ...plain, serverId, capacity, sessions, gone });
  const reserve = async (
    operation: string,
    exclude: string[] = [],
    pinned: string | null = null,
    more: { placementClass?: string; mirror?: string } = {},
  ) => {
    const [answer] = await ledger.reserve({
      wishes: [
        { operation, placementClass: more.placementClass ?? 'default', pinned, mirror: more.mirror ?? null },
      ],
      exclude,
    });
    assert.ok(answer);
    return answer;
  };

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

  test('a word that was read before what is known changes nothing', async () => {
    const tell = (report: number, sessions: string[]) =>
      ledger.correct({ ...plain, report, serverId: 'a', capacity: 2, sessions, gone: [] });
    await tell(1, []);
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
    // The session has come, and its reservation with it; a heartbeat that had read before is later here.
    assert.equal(await tell(3, ['s1']), true);
    assert.equal(await tell(2, []), true);
    assert.equal(await ledger.freeSlots('default'), 1);
    await tell(4, []);
    assert.equal(await ledger.freeSlots('default'), 2);
  });

  test('behind a ledger that has forgotten, a rebuild counts and not what was read before it', async () => {
    await redis.flushall();
    const truth = { ...plain, serverId: 'a', capacity: 2, gone: [] };
    await ledger.rebuild([{ ...truth, report: 8, sessions: ['s1'] }]);
    await ledger.correct({ ...truth, report: 7, sessions: [] });
    assert.equal(await ledger.freeSlots('default'), 1);
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
    await ledger.correct({ ...plain, serverId: 'w', pool: 'pinned', capacity: 5, sessions: [], gone: [] });
    assert.deepEqual(await reserve('s1-g1-0'), { kind: 'empty' });
    await ledger.correct({ ...plain, serverId: 'w', capacity: 5, sessions: [], gone: [] });
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
  });

  test('many wishes are one step, and end with the first that finds no room', async () => {
    await Promise.all([server('a', 2), server('b', 1)]);
    const wishes = Array.from({ length: 5 }, (_, index) => ({
      operation: `s${index}-g1-0`,
      placementClass: 'default',
      mirror: null,
      pinned: null,
    }));
    const answers = await ledger.reserve({ wishes, exclude: [] });
    assert.deepEqual(
      answers.map(({ kind }) => kind),
      ['reserved', 'reserved', 'reserved', 'full', 'full'],
    );
    assert.deepEqual(await ledger.reserve({ wishes, exclude: [] }), answers);
  });

  test('wishes of several classes are granted in their order, and a class that is full ends for itself only', async () => {
    const correct = (serverId: string, capacity: number, tokens: string[]) =>
      ledger.correct({ ...plain, serverId, tokens, capacity, sessions: [], gone: [] });
    await Promise.all([correct('plain', 2, []), correct('special', 1, ['label=gpu'])]);
    const gpu = 'default;label=gpu';
    const wishes = [gpu, gpu, 'default', gpu, 'default', 'default;label=none', 'default'].map(
      (placementClass, index) => ({
        operation: `s${index}-g1-0`,
        placementClass,
        mirror: null,
        pinned: null,
      }),
    );
    const answers = await ledger.reserve({ wishes, exclude: [] });
    assert.deepEqual(
      answers.map((answer) => (answer.kind === 'reserved' ? answer.serverId : answer.kind)),
      ['special', 'full', 'plain', 'full', 'plain', 'empty', 'full'],
    );
  });

  test('a class finds the servers that have all it asks for, and those that join later', async () => {
    const correct = (serverId: string, tokens: string[]) =>
      ledger.correct({ ...plain, serverId, tokens, capacity: 5, sessions: [], gone: [] });
    await correct('plain', []);
    const gpu = 'default;arch=arm64;label=gpu';
    assert.deepEqual(await reserve('s1-g1-0', [], null, { placementClass: gpu }), { kind: 'empty' });
    await correct('half', ['label=gpu']);
    assert.deepEqual(await reserve('s2-g1-0', [], null, { placementClass: gpu }), { kind: 'empty' });
    await correct('whole', ['arch=arm64', 'label=gpu', 'runtime=codex']);
    assert.deepEqual(await reserve('s3-g1-0', [], null, { placementClass: gpu }), {
      kind: 'reserved',
      serverId: 'whole',
    });
    await correct('whole', []);
    assert.deepEqual(await reserve('s4-g1-0', [], null, { placementClass: gpu }), { kind: 'empty' });
  });

  test('among equals a repository at hand comes first, then a warm sandbox; load comes before both', async () => {
    const truth = { ...plain, capacity: 10, sessions: [] as string[], gone: [] };
    await ledger.correct({ ...truth, serverId: 'cold' });
    await ledger.correct({ ...truth, serverId: 'warm', warm: 1 });
    await ledger.correct({ ...truth, serverId: 'copy', mirrors: ['repo'] });
    await ledger.correct({ ...truth, serverId: 'busy', mirrors: ['repo'], warm: 5, sessions: ['x'] });
    const chosen: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const got = await reserve(`s${round}-g1-0`, [], null, { mirror: 'repo' });
      chosen.push(got.kind === 'reserved' ? got.serverId : got.kind);
    }
    assert.deepEqual(chosen.slice(0, 3), ['copy', 'warm', 'cold']);
    assert.equal(chosen[3], 'busy');
  });

  test('a server starts so many at once and no more; one that runs makes room', async () => {
    await ledger.correct({
      ...plain,
      serverId: 'a',
      capacity: 10,
      startingLimit: 2,
      starting: 1,
      sessions: ['x'],
      gone: [],
    });
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
    assert.equal((await reserve('s2-g1-0')).kind, 'full');
    await ledger.running('a', 's1');
    assert.equal((await reserve('s2-g1-0')).kind, 'reserved');
    await ledger.running('a', 'x');
    assert.equal((await reserve('s3-g1-0')).kind, 'reserved');
    assert.equal((await reserve('s4-g1-0')).kind, 'full');
  });

  test('a packed pool fills one server after the other', async () => {
    await Promise.all([server('a', 3), server('b', 3, ['x']), server('c', 3)]);
    await ledger.pack(['default']);
    const chosen: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const got = await reserve(`s${round}-g1-0`);
      chosen.push(got.kind === 'reserved' ? got.serverId : got.kind);
    }
    assert.deepEqual(chosen.slice(0, 2), ['b', 'b']);
    assert.equal(new Set(chosen.slice(2)).size, 1);
  });

  test('a server that says it is full is left alone until its next word', async () => {
    await server('a', 3);
    await ledger.fill('a');
    assert.equal((await reserve('s1-g1-0')).kind, 'full');
    await server('a', 3);
    assert.equal((await reserve('s1-g1-0')).kind, 'reserved');
  });

  test('a ledger that forgot takes no single server’s word, and begins anew with all of them', async () => {
    await server('a', 2);
    await reserve('s1-g1-0');
    await redis.flushall();
    assert.equal(await ledger.isWhole(), false);
    assert.equal(await server('a', 2), false);
    assert.deepEqual(await reserve('s2-g1-0'), { kind: 'empty' });
    await ledger.rebuild([{ ...plain, serverId: 'a', capacity: 2, sessions: ['s1'], gone: [] }]);
    assert.equal(await ledger.isWhole(), true);
    assert.equal(await ledger.freeSlots('default'), 1);
    assert.equal(await server('a', 2), true);
    assert.equal(await ledger.freeSlots('default'), 2);
  });

  test('a hold that stands is renewed, one that was lost is taken again while there is room', async () => {
    await Promise.all([server('a', 1), server('b', 1)]);
    const first = await reserve('s1-g1-0', ['b']);
    assert.deepEqual(first, { kind: 'reserved', serverId: 'a' });
    await redis.zadd('{test:placement}:expiries', Date.now() + 1_000, 's1-g1-0');
    const hold = { operation: 's1-g1-0', serverId: 'a' };
    const other = { operation: 's2-g1-0', serverId: 'a' };
    assert.deepEqual(await ledger.renew([hold, other]), [true, false]);
    const expiry = Number(await redis.zscore('{test:placement}:expiries', 's1-g1-0'));
    assert.ok(expiry > Date.now() + 20_000, 'it lasts as long as a new one');
    assert.deepEqual(
      await ledger.renew([{ ...hold, serverId: 'b' }]),
      [false],
      'it stands on another server',
    );
    await ledger.release('s1-g1-0');
    assert.deepEqual(await ledger.renew([other, hold]), [true, false]);
    assert.equal(await ledger.freeSlots('default'), 1);
    await redis.flushall();
    assert.deepEqual(await ledger.renew([other]), [false], 'nobody knows the server');
  });
});
