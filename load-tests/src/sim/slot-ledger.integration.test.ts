import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import { createSlotLedger } from '@lemniscate/shared/queue/slot-ledger.ts';
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
