import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const fleets: TestFleet[] = [];
// At once: a fleet that lives on keeps its connections, and works, beside the tests that follow.
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.remove();
});

async function fleetOf(...servers: { name: string; capacity: number }[]): Promise<TestFleet> {
  const fleet = await createTestFleet({ servers });
  fleets.push(fleet);
  return fleet;
}

async function create(dispatcher: TestDispatcher, extra: object = {}): Promise<SessionView> {
  const { body, status } = await dispatcher.call<SessionView>('POST', '/v1/sessions', {
    ...ordinaryRequest,
    ...extra,
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body;
}

const taken = (fleet: TestFleet): string[] => fleet.servers.flatMap((server) => [...server.held.keys()]);

async function usable(fleet: TestFleet, dispatcher: TestDispatcher): Promise<void> {
  await within(30_000, 'every server can be used', async () => {
    const { body } = await dispatcher.call<{ servers: { usable: number }[] }>('GET', '/v1/servers');
    return body.servers.filter((server) => server.usable > 0).length === fleet.servers.length;
  });
}

describe('placing sessions', () => {
  test('a session is placed with the order that was asked for, quickly', async (context) => {
    const fleet = await fleetOf({ name: 'alpha', capacity: 100 });
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const [server] = fleet.servers;
    assert.ok(server);
    const delays: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      const from = performance.now();
      const { id } = await create(dispatcher);
      await within(30_000, 'the order arrived', () => server.held.has(id));
      const arrived: { at: number; order: SessionOrder } | undefined = server.orders.find(
        (each) => each.order.sessionId === id,
      );
      assert.ok(arrived);
      assert.equal(arrived.order.attempt, 1);
      assert.equal(arrived.order.instruction, ordinaryRequest.instruction);
      delays.push(arrived.at - from);
    }
    delays.sort((left, right) => left - right);
    context.diagnostic(`POST to PUT: p50 ${delays[20]?.toFixed(1)} ms, p95 ${delays[38]?.toFixed(1)} ms`);
  });

  test('a burst of 200 sessions fills ten servers evenly', async (context) => {
    const fleet = await fleetOf(
      ...Array.from({ length: 10 }, (_, index) => ({ name: `s${index}`, capacity: 40 })),
    );
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const from = performance.now();
    await Promise.all(Array.from({ length: 200 }, () => create(dispatcher)));
    await within(30_000, 'all are taken', () => taken(fleet).length === 200);
    const loads = fleet.servers.map((server) => server.held.size);
    context.diagnostic(`placed in ${Math.round(performance.now() - from)} ms: ${loads.join(' ')}`);
    assert.equal(new Set(taken(fleet)).size, 200);
    assert.ok(Math.max(...loads) - 20 <= 1, loads.join(' '));
  });

  test('two dispatchers at once place each session once', async () => {
    const fleet = await fleetOf({ name: 'a', capacity: 60 }, { name: 'b', capacity: 60 });
    const first = await fleet.startDispatcher();
    const second = await fleet.startDispatcher();
    await usable(fleet, first);
    await Promise.all(Array.from({ length: 80 }, (_, index) => create(index % 2 === 0 ? first : second)));
    await within(30_000, 'all are taken', () => taken(fleet).length === 80);
    const orders = fleet.servers.flatMap((server) => server.orders.map((each) => each.order));
    assert.equal(orders.length, 80);
    assert.deepEqual(new Set(orders.map((order) => order.attempt)), new Set([1]));
  });

  test('a full server is passed over and that is no failure', async () => {
    const fleet = await fleetOf({ name: 'full', capacity: 50 }, { name: 'free', capacity: 50 });
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const [full, free] = fleet.servers;
    assert.ok(full && free);
    full.behaviour = 'full';
    const sessions = await Promise.all(Array.from({ length: 12 }, () => create(dispatcher)));
    await within(30_000, 'all are on the other', () => free.held.size === 12);
    assert.ok(full.orders.length > 0);
    for (const { id } of sessions) assert.equal((await fleet.session(id)).state, 'starting');
  });

  test('a waiting session is placed as soon as a slot is free, oldest first', async (context) => {
    const fleet = await fleetOf({ name: 'small', capacity: 1 });
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const [server] = fleet.servers;
    assert.ok(server);
    const first = await create(dispatcher);
    await within(30_000, 'the first is taken', () => server.held.has(first.id));
    const second = await create(dispatcher);
    const third = await create(dispatcher);
    assert.deepEqual((await fleet.session(third.id)).queue?.position, 2);
    await within(30_000, 'both wait', async () => {
      const { body } = await dispatcher.call<SessionView>('GET', `/v1/sessions/${third.id}`);
      return body.state === 'pending';
    });
    await fleet.sql(`UPDATE attempts SET state = 'ended' WHERE session_id = $1`, [first.id]);
    server.drop(first.id);
    const from = performance.now();
    await server.heartbeat();
    await within(30_000, 'the second is taken', () => server.held.has(second.id));
    context.diagnostic(`freed slot to order: ${Math.round(performance.now() - from)} ms`);
    assert.ok(!server.held.has(third.id));
  });

  test('three failing servers end the session with a sentence about each', async () => {
    const fleet = await fleetOf(
      { name: 'x', capacity: 5 },
      { name: 'y', capacity: 5 },
      { name: 'z', capacity: 5 },
    );
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    for (const server of fleet.servers) server.behaviour = 'fail';
    const { id } = await create(dispatcher);
    const ended = await fleet.until(id, 'failed');
    assert.equal(ended.reason, 'no_capacity');
    for (const name of ['x', 'y', 'z'])
      assert.match(ended.message ?? '', new RegExp(`${name}: it answered 500`));
    assert.equal(ended.exitCode, 1);
  });

  test('a failing server is passed over, and what it may have taken is fenced off', async () => {
    const fleet = await fleetOf({ name: 'bad', capacity: 500 }, { name: 'good', capacity: 50 });
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const [bad, good] = fleet.servers;
    assert.ok(bad && good);
    bad.behaviour = 'cut';
    const ids = (await Promise.all(Array.from({ length: 6 }, () => create(dispatcher)))).map(({ id }) => id);
    await within(30_000, 'all are on the good one', () => good.held.size === 6);
    const cut = bad.orders.map((each) => each.order);
    assert.ok(cut.length > 0, 'the bad server was tried');
    const answer = await bad.heartbeat();
    assert.deepEqual(answer.leases, []);
    for (const order of cut) {
      assert.ok(ids.includes(order.sessionId));
      const [row] = await fleet.sql<{ state: string }>(
        'SELECT state FROM attempts WHERE session_id = $1 AND attempt = $2',
        [order.sessionId, order.attempt],
      );
      assert.equal(row?.state, 'lost');
    }
  });

  test('a server that takes an order and never answers is left behind, and told so', async () => {
    const fleet = await fleetOf({ name: 'hung', capacity: 500 }, { name: 'good', capacity: 50 });
    const dispatcher = await fleet.startDispatcher();
    await usable(fleet, dispatcher);
    const [hung, good] = fleet.servers;
    assert.ok(hung && good);
    hung.behaviour = 'hang';
    const ids = (await Promise.all(Array.from({ length: 4 }, () => create(dispatcher)))).map(({ id }) => id);
    await within(30_000, 'all are on the good one', () => ids.every((id) => good.held.has(id)));
    assert.ok(hung.orders.length > 0, 'the hung server was tried');
    await within(30_000, 'it was told to destroy what it took', () =>
      hung.orders.every(({ order }) =>
        hung.destroyed.some((held) => held.sessionId === order.sessionId && held.attempt === order.attempt),
      ),
    );
  });

  test('no server at all: the session waits until the queue deadline and says so', async () => {
    const fleet = await fleetOf();
    const dispatcher = await fleet.startDispatcher({ LEMNISCATE_QUEUE_MAX_WAIT_SECONDS: '1' });
    const { id } = await create(dispatcher);
    const ended = await fleet.until(id, 'failed');
    assert.equal(ended.reason, 'queue_deadline');
    assert.match(ended.message ?? '', /LEMNISCATE_QUEUE_MAX_WAIT_SECONDS/);
  });
});
