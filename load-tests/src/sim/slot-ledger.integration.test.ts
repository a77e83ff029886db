import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import { createSlotLedger, sampledServers } from '@lemniscate/shared/queue/slot-ledger.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';

const redisUrl = process.env['LEMNISCATE_TEST_REDIS_URL'];
if (redisUrl === undefined) throw new Error('npm test sets LEMNISCATE_TEST_REDIS_URL');
const redis = connectRedis(new URL(redisUrl), () => undefined);
after(() => closeRedis(redis, 1_000));

/** All of one size: among servers of other sizes with the same share in use it is chance whose share grows by how much. */
const capacities = Array.from({ length: 30 }, () => 4);

const ascending = (one: number, other: number): number => one - other;

test('the model and the script in Redis spread sessions alike, at every step of a random walk', async () => {
  const prefix = `{ledger-model-${process.pid}}`;
  const real = createReservations(redis, prefix, seededRandom(2));
  const model = createSlotLedger(
    capacities.map((capacity) => ({ capacity })),
    { hasWarm: () => false, hasMirror: () => false },
    seededRandom(3),
  );
  await real.rebuild(
    capacities.map((capacity, server) => ({
      serverId: `s${server}`,
      pool: 'default',
      capacity,
      tokens: [],
      warm: 0,
      mirrors: [],
      starting: 0,
      report: 1,
      startingLimit: 100,
      sessions: [],
      gone: [],
    })),
  );
  const random = seededRandom(4);
  const held: { operation: string; real: number; model: number }[] = [];
  const realCounts = capacities.map(() => 0);
  for (let step = 0; step < 600; step += 1) {
    if (random() < 0.6 || held.length === 0) {
      const operation = `s_${step}-g1-0`;
      const [given] = await real.reserve({
        wishes: [{ operation, placementClass: 'default', mirror: null, pinned: null }],
        exclude: [],
      });
      const modelled = model.reserve(0);
      assert.equal(given?.kind === 'reserved', modelled !== null, `step ${step}: one has room`);
      if (given?.kind !== 'reserved' || modelled === null) continue;
      const server = Number(given.serverId.slice(1));
      realCounts[server] = (realCounts[server] ?? 0) + 1;
      held.push({ operation, real: server, model: modelled });
    } else {
      // One that both have on a server of the same load: otherwise chance would part them.
      const at = held.findIndex((one) => realCounts[one.real] === model.taken(one.model));
      const [one] = at === -1 ? [] : held.splice(at, 1);
      if (one === undefined) continue;
      await real.release(one.operation);
      realCounts[one.real] = (realCounts[one.real] ?? 0) - 1;
      model.release(one.model);
    }
    assert.deepEqual(
      realCounts.toSorted(ascending),
      capacities.map((_, server) => model.taken(server)).toSorted(ascending),
      `step ${step}`,
    );
  }
  assert.ok(held.length > 50);
  assert.equal(model.free(), capacities.reduce((sum, capacity) => sum + capacity, 0) - held.length);
});

/** What is true of one server in both of them. */
interface Known {
  readonly capacity: number;
  warm: number;
  readonly mirrors: Set<number>;
  readonly sessions: Set<string>;
}

test('servers of different sizes with sandboxes and repositories at hand: both would choose one that is as good', async () => {
  const random = seededRandom(5);
  const below = (bound: number): number => Math.floor(random() * bound);
  const known = Array.from({ length: 24 }, (_, server): Known => ({
    capacity: 1 + (server % 6),
    warm: below(3),
    mirrors: new Set(),
    sessions: new Set(),
  }));
  const of = (server: number): Known => {
    const found = known[server];
    assert.ok(found, `there is a server ${server}`);
    return found;
  };
  const real = createReservations(redis, `{ledger-sizes-${process.pid}}`, seededRandom(6));
  const model = createSlotLedger(
    known,
    {
      hasWarm: (server) => of(server).warm > 0,
      hasMirror: (server, mirror) => of(server).mirrors.has(mirror),
    },
    seededRandom(7),
  );
  let report = 0;
  const truth = (server: number, gone: readonly string[] = []) => ({
    serverId: `s${server}`,
    pool: 'default',
    capacity: of(server).capacity,
    tokens: [],
    warm: of(server).warm,
    mirrors: [...of(server).mirrors].map(String),
    starting: 0,
    report: (report += 1),
    startingLimit: 100,
    sessions: [...of(server).sessions],
    gone,
  });
  await real.rebuild(known.map((_, server) => truth(server)));
  const scoreOf = (server: number): number => of(server).sessions.size / of(server).capacity;
  const pointsOf = (server: number, mirror: number): number =>
    (of(server).warm > 0 ? 1 : 0) + (of(server).mirrors.has(mirror) ? 2 : 0);
  const seen = { full: 0, otherSize: 0, points: [0, 0, 0, 0] };
  for (let step = 0; step < 1_500; step += 1) {
    const server = below(known.length);
    if (random() < 0.4) {
      // A session ends, or a sandbox has booted.
      const [ended] = of(server).sessions;
      if (ended === undefined || random() < 0.5) of(server).warm += 1;
      if (ended !== undefined) {
        of(server).sessions.delete(ended);
        model.release(server);
      }
      await real.correct(truth(server, ended === undefined ? [] : [ended]));
      continue;
    }
    const mirror = below(5);
    const session = `s_${step}`;
    const [given] = await real.reserve({
      wishes: [
        { operation: `${session}-g1-0`, placementClass: 'default', mirror: String(mirror), pinned: null },
      ],
      exclude: [],
    });
    const modelled = model.reserve(mirror);
    assert.equal(given?.kind === 'reserved', modelled !== null, `step ${step}: one has room`);
    if (given?.kind !== 'reserved' || modelled === null) {
      seen.full += 1;
      continue;
    }
    const chosen = Number(given.serverId.slice(1));
    assert.equal(scoreOf(chosen), scoreOf(modelled), `step ${step}: share in use`);
    const equals = known.filter((_, other) => scoreOf(other) === scoreOf(modelled)).length;
    // Of more than are looked at, chance says which.
    if (equals <= sampledServers) {
      const points = pointsOf(modelled, mirror);
      assert.equal(pointsOf(chosen, mirror), points, `step ${step}: at hand`);
      if (equals > 1) seen.points[points] = (seen.points[points] ?? 0) + 1;
      if (of(chosen).capacity !== of(modelled).capacity) seen.otherSize += 1;
    }
    // Both go on with the model's choice.
    await real.release(`${session}-g1-0`);
    await real.correct(truth(chosen));
    of(modelled).sessions.add(session);
    of(modelled).mirrors.add(mirror);
    for (const old of [...of(modelled).mirrors].slice(0, -2)) of(modelled).mirrors.delete(old);
    of(modelled).warm = Math.max(0, of(modelled).warm - 1);
    await real.correct(truth(modelled));
    assert.equal(model.taken(modelled), of(modelled).sessions.size);
  }
  assert.ok(seen.full > 0 && seen.otherSize > 10, JSON.stringify(seen));
  assert.ok(
    seen.points.every((times) => times > 10),
    JSON.stringify(seen),
  );
});
