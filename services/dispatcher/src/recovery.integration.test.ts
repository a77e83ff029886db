import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { startTcpProxy } from './testing/tcp-proxy.ts';
import { within } from './testing/within.ts';

const fleets: TestFleet[] = [];
// At once: a fleet that lives on keeps its connections, and works, beside the tests that follow.
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.remove();
});

const quick = { LEMNISCATE_LEASE_MS: '1000', LEMNISCATE_GRACE_MS: '200' };

async function fleetOf(...names: string[]): Promise<TestFleet> {
  const fleet = await createTestFleet({ servers: names.map((name) => ({ name, capacity: 20 })) });
  fleets.push(fleet);
  return fleet;
}

async function create(dispatcher: TestDispatcher): Promise<string> {
  const { body, status } = await dispatcher.call<SessionView>('POST', '/v1/sessions', ordinaryRequest);
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

async function placedOn(fleet: TestFleet, id: string, attempt = 1) {
  await within(30_000, `attempt ${attempt} of ${id} is held`, () =>
    fleet.servers.some((server) => server.held.get(id) === attempt),
  );
  const server = fleet.servers.find((each) => each.held.get(id) === attempt);
  assert.ok(server);
  return server;
}

const attemptsOf = (fleet: TestFleet, id: string) =>
  fleet.sql<{ attempt: number; state: string; server_id: string }>(
    'SELECT attempt, state, server_id FROM attempts WHERE session_id = $1 ORDER BY attempt',
    [id],
  );

describe('recovery', () => {
  test('heartbeats keep a lease alive, and silence loses it', async () => {
    const fleet = await fleetOf('a', 'b');
    const dispatcher = await fleet.startDispatcher(quick);
    for (const server of fleet.servers) server.startHeartbeats(200);
    const id = await create(dispatcher);
    const first = await placedOn(fleet, id);
    const [lease] = await fleet.sql<{ at: Date }>(
      'SELECT lease_expires_at AS at FROM attempts WHERE session_id = $1',
      [id],
    );
    await within(30_000, 'the lease was renewed past its first end', async () => {
      const [row] = await fleet.sql<{ renewed: boolean }>(
        "SELECT lease_expires_at > $2::timestamptz + interval '1500 milliseconds' AS renewed FROM attempts WHERE session_id = $1",
        [id, lease?.at],
      );
      return row?.renewed ?? false;
    });
    assert.equal((await fleet.session(id)).attempt, 1);
    first.stopHeartbeats();
    first.behaviour = 'full';
    const second = await placedOn(fleet, id, 2);
    assert.notEqual(second.name, first.name);
    // A frozen server wakes up: its attempt is stale and it is told to destroy it.
    (first.held as Map<string, number>).set(id, 1);
    const answer = await first.heartbeat();
    assert.deepEqual(answer.stale, [{ sessionId: id, attempt: 1 }]);
    assert.deepEqual((await attemptsOf(fleet, id)).map((row) => row.state).at(0), 'lost');
    const [row] = await fleet.sql<{ types: string }>(
      `SELECT string_agg(type, ',' ORDER BY seq) AS types FROM audit_entries WHERE chain = 'session:' || $1`,
      [id],
    );
    assert.match(row?.types ?? '', /attempt\.lost,session\.queued,attempt\.started/);
  });

  test('a server that started anew has lost its sessions at once', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher();
    const id = await create(dispatcher);
    const server = await placedOn(fleet, id);
    await server.heartbeat();
    await within(30_000, 'the attempt is settled', async () => {
      const rows = await fleet.sql(
        `SELECT 1 FROM attempts WHERE session_id = $1 AND created_at < now() - interval '1 second'`,
        [id],
      );
      return rows.length > 0;
    });
    server.restart();
    await server.heartbeat();
    await placedOn(fleet, id, 2);
    assert.deepEqual(
      (await attemptsOf(fleet, id)).map((row) => row.state),
      ['lost', 'live'],
    );
  });

  test('more losses than allowed end the session', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher({ ...quick, LEMNISCATE_MAX_LOSSES: '1' });
    const id = await create(dispatcher);
    const ended = await fleet.until(id, 'failed');
    assert.equal(ended.reason, 'server_lost');
    assert.equal(ended.attempt, 2);
    assert.match(ended.message ?? '', /lease expired/);
  });

  test('a session that never reports running is tried again and then fails to start', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher({
      LEMNISCATE_START_TIMEOUT_MS: '1000',
      LEMNISCATE_MAX_LOSSES: '1',
    });
    for (const server of fleet.servers) server.startHeartbeats(200);
    const id = await create(dispatcher);
    const ended = await fleet.until(id, 'failed');
    assert.equal(ended.reason, 'start_failed');
    const [server] = fleet.servers;
    await within(30_000, 'the server was told to destroy both attempts', () => {
      const told = server?.destroyed.filter((held) => held.sessionId === id).map((held) => held.attempt);
      return told?.includes(1) === true && told.includes(2);
    });
  });

  test('FLUSHALL in the middle loses nothing and runs nothing twice', async () => {
    const fleet = await fleetOf('a', 'b');
    for (const server of fleet.servers) server.behaviour = 'full';
    const dispatcher = await fleet.startDispatcher();
    const ids = await Promise.all(Array.from({ length: 20 }, () => create(dispatcher)));
    await within(30_000, 'a server has refused', () =>
      fleet.servers.some((server) => server.orders.length > 0),
    );
    await fleet.redis.flushAll();
    for (const server of fleet.servers) server.behaviour = 'take';
    await within(
      30_000,
      'all are placed',
      () => fleet.servers.reduce((sum, server) => sum + server.held.size, 0) === 20,
    );
    for (const id of ids) {
      const live = (await attemptsOf(fleet, id)).filter((row) => row.state === 'live');
      assert.equal(live.length, 1);
      assert.equal(fleet.servers.filter((server) => server.held.has(id)).length, 1);
    }
  });

  test('FLUSHALL while an attempt is being minted gives its slot to nobody else', async () => {
    const fleet = await createTestFleet({ servers: [{ name: 'a', capacity: 1 }] });
    fleets.push(fleet);
    const dispatcher = await fleet.startDispatcher();
    const [server] = fleet.servers;
    assert.ok(server);
    const redis = new Redis(fleet.redis.url.href);
    const isWhole = () => redis.exists('{lemniscate:placement}:whole').then((found) => found === 1);
    const waitsFor = (lock: string) => async () =>
      (
        await fleet.sql(
          // of this database alone: the files that run beside this one wait for locks of the same names in theirs
          `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
           WHERE d.datname = current_database() AND NOT granted AND ${lock}`,
        )
      ).length > 0;
    try {
      await within(30_000, 'the ledger knows the server', isWhole);
      await fleet.sql('BEGIN');
      await fleet.sql('LOCK TABLE attempts IN SHARE MODE');
      const first = await create(dispatcher);
      await within(30_000, 'its attempt is being minted', waitsFor(`relation = 'attempts'::regclass`));
      await fleet.redis.flushAll();
      const second = await create(dispatcher);
      await within(30_000, 'a rebuild of the ledger waits for it', waitsFor(`locktype = 'advisory'`));
      await fleet.sql('COMMIT');
      await placedOn(fleet, first);
      await within(30_000, 'the ledger is rebuilt', isWhole);
      await fleet.sql(`UPDATE attempts SET state = 'ended', ended_at = now() WHERE session_id = $1`, [first]);
      server.drop(first);
      await server.heartbeat();
      await placedOn(fleet, second);
      assert.deepEqual(
        server.orders.map(({ order }) => [order.sessionId, order.attempt]),
        [
          [first, 1],
          [second, 1],
        ],
      );
    } finally {
      redis.disconnect();
    }
  });

  test('a Redis that is away and comes back empty delays sessions and loses none', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher();
    await fleet.redis.stop();
    const ids = await Promise.all(Array.from({ length: 5 }, () => create(dispatcher)));
    const ready = await dispatcher.call<{ details: { missing: string[] } }>('GET', '/readyz');
    assert.equal(ready.status, 503);
    assert.deepEqual(ready.body.details.missing, ['redis']);
    await fleet.redis.start();
    for (const id of ids) await placedOn(fleet, id);
  });

  test('what an operator decides while Redis is away is done, and the ledger has it when Redis is back', async () => {
    const fleet = await fleetOf('a', 'b', 'c');
    const dispatcher = await fleet.startDispatcher();
    const servers = async () =>
      (await dispatcher.call<{ servers: ServerView[] }>('GET', '/v1/servers')).body.servers;
    await within(30_000, 'all can be used', async () => {
      const seen = await servers();
      return seen.length === 3 && seen.every(({ usable }) => usable > 0);
    });
    await fleet.redis.stop();
    const a = (await servers()).find(({ id }) => id === 'a');
    assert.ok(a);
    const drain = await dispatcher.call('PUT', '/v1/servers/a/drain', {}, { 'if-match': `"${a.version}"` });
    const pack = await dispatcher.call('PUT', '/v1/pools/default', { packing: true }, { 'if-match': '"0"' });
    assert.deepEqual([drain.status, pack.status], [204, 204]);
    await fleet.redis.start();
    const ledger = new Redis(fleet.redis.url.href);
    try {
      await within(30_000, 'the ledger has both', async () => {
        const [packed, chosen] = await Promise.all([
          ledger.smembers('{lemniscate:placement}:packed'),
          ledger.hkeys('{lemniscate:placement}:pools'),
        ]);
        return packed.includes('default') && chosen.toSorted().join() === 'b,c';
      });
    } finally {
      ledger.disconnect();
    }
    const ids = await Promise.all(Array.from({ length: 4 }, () => create(dispatcher)));
    for (const id of ids) await placedOn(fleet, id);
    const held = new Map(fleet.servers.map((server) => [server.name, server.held.size]));
    assert.equal(held.get('a'), 0);
    assert.equal(Math.max(...held.values()), 4);
  });

  test('a dispatcher stops within its bounds although Redis is away', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher();
    await placedOn(fleet, await create(dispatcher));
    await fleet.redis.stop();
    const from = performance.now();
    await dispatcher.stop();
    assert.ok(performance.now() - from < 20_000);
  });

  test('a dispatcher that comes back gives every lease the time of its absence', async () => {
    const fleet = await fleetOf('a');
    const first = await fleet.startDispatcher();
    const id = await create(first);
    await placedOn(fleet, id);
    await first.stop();
    // An hour passes.
    await fleet.sql(
      `UPDATE attempts SET lease_expires_at = lease_expires_at - interval '1 hour' WHERE session_id = $1`,
      [id],
    );
    await fleet.sql(`UPDATE fleet_watch SET ticked_at = ticked_at - interval '1 hour'`);
    await fleet.startDispatcher();
    await within(30_000, 'the lease was extended', async () => {
      const rows = await fleet.sql(
        `SELECT 1 FROM attempts WHERE session_id = $1 AND lease_expires_at > now()`,
        [id],
      );
      return rows.length === 1;
    });
    assert.deepEqual(
      (await attemptsOf(fleet, id)).map((row) => row.state),
      ['live'],
    );
  });

  test('a Postgres that is away longer than a lease costs no attempt', async () => {
    const fleet = await fleetOf('a');
    const own = new URL((await fleet.environment())['DATABASE_URL'] ?? '');
    const proxy = await startTcpProxy(Number(own.port));
    own.port = String(proxy.port);
    try {
      const dispatcher = await fleet.startDispatcher({ ...quick, DATABASE_URL: own.href });
      for (const server of fleet.servers) server.startHeartbeats(200);
      const id = await create(dispatcher);
      await placedOn(fleet, id);
      proxy.cut();
      await within(30_000, 'the lease has run out, with its grace', async () => {
        const rows = await fleet.sql(
          `SELECT 1 FROM attempts WHERE session_id = $1 AND lease_expires_at < now() - interval '2 seconds'`,
          [id],
        );
        return rows.length === 1;
      });
      assert.equal((await dispatcher.call('GET', '/readyz')).status, 503);
      const refused = await dispatcher.call<{ code: string; detail: string }>('GET', `/v1/sessions/${id}`);
      assert.equal(refused.body.code, 'service_unreachable');
      proxy.mend();
      await within(30_000, 'the lease lives again', async () => {
        const rows = await fleet.sql(
          'SELECT 1 FROM attempts WHERE session_id = $1 AND lease_expires_at > now()',
          [id],
        );
        return rows.length === 1;
      });
      assert.deepEqual(
        (await attemptsOf(fleet, id)).map((row) => row.state),
        ['live'],
      );
    } finally {
      proxy.close();
    }
  });

  test('an unknown server is told so, and a foreign certificate gets nowhere', async () => {
    const fleet = await fleetOf('a');
    const dispatcher = await fleet.startDispatcher({ AGENT_SERVERS: '' });
    const [server] = fleet.servers;
    await assert.rejects(async () => server?.heartbeat(), /404.*server_unknown/);
    const plain = await fetch(`http://127.0.0.1:${dispatcher.internalPort}/internal/servers/heartbeat`).then(
      (answer) => answer.status,
      () => 'no answer',
    );
    assert.equal(plain, 'no answer');
  });
});
