import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import type { PoolView } from '@lemniscate/shared/api/pool.ts';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { startSimulatedAgentServer } from './testing/simulated-agent-server.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const fleets: TestFleet[] = [];
// At once: a fleet that lives on keeps its connections, and works, beside the tests that follow.
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.remove();
});

async function start(names: readonly string[], extra: Record<string, string> = {}) {
  const fleet = await createTestFleet({ servers: names.map((name) => ({ name, capacity: 20 })) });
  fleets.push(fleet);
  const dispatcher = await fleet.startDispatcher(extra);
  return { fleet, dispatcher };
}

async function seen(dispatcher: TestDispatcher, id: string): Promise<ServerView | undefined> {
  const { body } = await dispatcher.call<{ servers: ServerView[] }>('GET', '/v1/servers');
  return body.servers.find((server) => server.id === id);
}

/** Of an operator's act: the server as it is seen at this moment. */
const ofSeen = async (dispatcher: TestDispatcher, id: string) => ({
  'if-match': `"${(await seen(dispatcher, id))?.version}"`,
});

const usable = (dispatcher: TestDispatcher, id: string, ms = 15_000): Promise<void> =>
  within(ms, `${id} can be used`, async () => ((await seen(dispatcher, id))?.usable ?? 0) > 0);

async function open(dispatcher: TestDispatcher, more: object = {}): Promise<string> {
  const { body, status } = await dispatcher.call<SessionView>('POST', '/v1/sessions', {
    ...ordinaryRequest,
    ...more,
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

describe('agent servers', () => {
  test('a drained server gets nothing new; at the deadline what runs there is moved, and that is no loss', async () => {
    const { fleet, dispatcher } = await start(['a', 'b'], { LEMNISCATE_MAX_LOSSES: '0' });
    await usable(dispatcher, 'a');
    await usable(dispatcher, 'b');
    const [first, second] = fleet.servers;
    assert.ok(first && second);
    const ids = await Promise.all(Array.from({ length: 6 }, () => open(dispatcher)));
    await within(30_000, 'three on each', () => first.held.size === 3 && second.held.size === 3);
    const moved = [...first.held.keys()];
    const operate = async (method: string, body?: object) => {
      const answer = await dispatcher.call(
        method,
        '/v1/servers/a/drain',
        body,
        await ofSeen(dispatcher, 'a'),
      );
      assert.equal(answer.status, 204, JSON.stringify(answer.body));
    };
    await operate('PUT', {});
    const late = await open(dispatcher);
    await within(30_000, 'a new one goes to the other', () => second.held.has(late));
    assert.equal(first.held.size, 3);
    assert.match((await seen(dispatcher, 'a'))?.outBecause ?? '', /drained/);
    await operate('PUT', { deadlineSeconds: 0 });
    await within(30_000, 'all are on the other', () => ids.every((id) => second.held.has(id)));
    await within(30_000, 'the first is empty', () => first.held.size === 0);
    for (const id of moved) assert.equal((await fleet.session(id)).attempt, 2);
    const losses = await fleet.sql<{ losses: number }>('SELECT max(losses) AS losses FROM sessions');
    assert.equal(losses[0]?.losses, 0);
    await operate('DELETE');
    await usable(dispatcher, 'a');
  });

  test('a server on which nothing starts leaves the rotation, and comes back by proving itself with one session', async () => {
    const { fleet, dispatcher } = await start(['bad']);
    await usable(dispatcher, 'bad');
    const [bad] = fleet.servers;
    assert.ok(bad);
    bad.behaviour = 'fail';
    // Of one session that fails again and again it could be the session.
    const ids = [await open(dispatcher), await open(dispatcher), await open(dispatcher)];
    await within(30_000, 'it is out', async () => (await seen(dispatcher, 'bad'))?.usable === 0);
    assert.match(
      (await seen(dispatcher, 'bad'))?.outBecause ?? '',
      /3 sessions in a row did not start.*simulated fault/,
    );
    bad.behaviour = 'take';
    await fleet.sql(`UPDATE agent_servers SET excluded_until = now() WHERE id = 'bad'`);
    await within(30_000, 'it may try one', async () => (await seen(dispatcher, 'bad'))?.usable === 1);
    await within(30_000, 'one is placed', () => bad.held.size === 1);
    const [[placed = '', attempt = 0] = []] = bad.held;
    assert.ok(ids.includes(placed));
    // It reports that the session runs.
    const answer = await bad.post(`/internal/sessions/${placed}/attempts/${attempt}/events`, {
      firstSeq: 1,
      events: [
        {
          at: new Date().toISOString(),
          event: { type: 'running', driver: 'simulated', warm: true, timingsMs: {} },
        },
      ],
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await within(
      30_000,
      'all of it is in use again',
      async () => (await seen(dispatcher, 'bad'))?.usable === 20,
    );
    await within(30_000, 'the others are placed', () => bad.held.size === 3);
  });

  type Illness = (server: SimulatedAgentServer) => void;
  const illnesses: readonly (readonly [what: string, falls: Illness, heals: Illness, reason: RegExp])[] = [
    [
      'whose clock is off',
      (ill) => (ill.says = { now: new Date(Date.now() + 3_600_000).toISOString() }),
      (ill) => (ill.says = {}),
      /clock is 3[56]\d\d s ahead/,
    ],
    [
      'whose disk is full',
      (ill) => (ill.says = { disk: { freeBytes: 1e6, totalBytes: 1e11 } }),
      (ill) => (ill.says = {}),
      /disk is full/,
    ],
    [
      'that cannot boot sandboxes',
      (ill) => (ill.says = { unhealthy: 'no sandbox starts' }),
      (ill) => (ill.says = {}),
      /no sandbox starts/,
    ],
    [
      'that answers slowly',
      (ill) => (ill.answersStatus = { afterMs: 2_500 }),
      (ill) => (ill.answersStatus = { afterMs: 0 }),
      /answers slowly \(2[5-9]\d\d ms/,
    ],
    [
      'that does not answer while its heartbeats go on',
      (ill) => (ill.answersStatus = 'never'),
      (ill) => (ill.answersStatus = { afterMs: 0 }),
      /asked \d+ times without an answer \(no answer in time\), though its heartbeats come/,
    ],
  ];
  for (const [what, falls, heals, reason] of illnesses)
    test(`a server ${what} gets no sessions, says why, and comes back by itself`, async () => {
      const { fleet, dispatcher } = await start(['ill', 'well']);
      await usable(dispatcher, 'ill');
      await usable(dispatcher, 'well');
      const [ill, well] = fleet.servers;
      assert.ok(ill && well);
      for (const server of fleet.servers) server.startHeartbeats(500);
      falls(ill);
      await within(40_000, 'it is out', async () =>
        reason.test((await seen(dispatcher, 'ill'))?.outBecause ?? ''),
      );
      const ids = await Promise.all(Array.from({ length: 5 }, () => open(dispatcher)));
      await within(30_000, 'all are on the other', () => ids.every((id) => well.held.has(id)));
      heals(ill);
      await usable(dispatcher, 'ill');
      const back = await open(dispatcher);
      await within(30_000, 'it is used again', () => ill.held.has(back));
    });

  test('sessions go where their needs are met, and wait while nobody meets them', async () => {
    const { fleet, dispatcher } = await start(['plain', 'special']);
    const [plain, special] = fleet.servers;
    assert.ok(plain && special);
    await usable(dispatcher, 'plain');
    await usable(dispatcher, 'special');
    const id = await open(dispatcher, { requires: { architecture: 'arm64', labels: ['gpu'] } });
    const ordinary = await open(dispatcher);
    await within(
      30_000,
      'an ordinary one is placed',
      () => plain.held.has(ordinary) || special.held.has(ordinary),
    );
    assert.equal((await fleet.session(id)).state, 'pending');
    special.says = { architecture: 'arm64', labels: ['gpu', 'eu'] };
    await within(30_000, 'it is placed', () => special.held.has(id));
  });

  test('the list of servers is read again without a restart, and a broken one changes nothing', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'lemniscate-list-'));
    context.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'servers');
    await writeFile(file, '# none yet\n');
    const fleet = await createTestFleet({ servers: ['a', 'b'].map((name) => ({ name, capacity: 20 })) });
    fleets.push(fleet);
    const dispatcher = await fleet.startDispatcher({ AGENT_SERVERS: '', AGENT_SERVERS_FILE: file });
    const [a, b] = fleet.servers;
    assert.ok(a && b);
    assert.equal(await seen(dispatcher, 'a'), undefined);
    await writeFile(file, `${a.url};capacity=2\n${b.url}\n`);
    await usable(dispatcher, 'a');
    await usable(dispatcher, 'b');
    assert.equal((await seen(dispatcher, 'a'))?.usable, 2);
    const slots = async (name: string) => (await seen(dispatcher, name))?.capacity;
    assert.deepEqual(
      [await slots('a'), await slots('b')],
      [2, 20],
      'the list caps what a server says itself',
    );
    await writeFile(file, 'not an address\n');
    const id = await open(dispatcher);
    await within(30_000, 'it is placed all the same', () => a.held.has(id) || b.held.has(id));
    await writeFile(file, `${b.url}\n`);
    await within(30_000, 'the first is out', async () =>
      /list/.test((await seen(dispatcher, 'a'))?.outBecause ?? ''),
    );
    const ids = await Promise.all(Array.from({ length: 4 }, () => open(dispatcher)));
    await within(30_000, 'all are on the second', () => ids.every((each) => b.held.has(each)));
  });

  test('a pool tells its scaler what it wants, and fills one server after the other when it is told to', async () => {
    const { fleet, dispatcher } = await start(['a', 'b', 'c']);
    for (const { name } of fleet.servers) await usable(dispatcher, name);
    const pool = async (): Promise<PoolView | undefined> =>
      (await dispatcher.call<{ pools: PoolView[] }>('GET', '/v1/pools')).body.pools.find(
        (each) => each.pool === 'default',
      );
    const idle = await pool();
    assert.deepEqual([idle?.slots, idle?.action, idle?.drain.length], [60, 'in', 2]);
    await dispatcher.call('PUT', '/v1/pools/default', { packing: true }, { 'if-match': '"0"' });
    await within(30_000, 'it packs', async () => (await pool())?.packing === true);
    const acts = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'admin.acted'`,
    );
    assert.ok(acts.some(({ body }) => body.includes('"act":"pool_set"') && body.includes('"packing":true')));
    await open(dispatcher);
    await within(30_000, 'the first is placed', () => fleet.servers.some(({ held }) => held.size === 1));
    for (let index = 0; index < 9; index += 1) await open(dispatcher);
    await within(
      30_000,
      'ten are placed',
      () => fleet.servers.reduce((sum, { held }) => sum + held.size, 0) === 10,
    );
    await within(
      30_000,
      'the others stand empty',
      () => fleet.servers.filter(({ held }) => held.size === 0).length >= 1,
    );
    await within(30_000, 'the full one is kept', async () => {
      const seenNow = await pool();
      const busiest = fleet.servers.toSorted((one, other) => other.held.size - one.held.size)[0];
      return seenNow?.held === 10 && busiest !== undefined && !seenNow.drain.includes(busiest.name);
    });
    const scrape = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${fleet.token}` };
      return (await fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}`, { headers })).text();
    };
    assert.match(await scrape('/v1/pools/metrics'), /lemniscate_pool_held\{pool="default"\} 10/);
    // what alerts count is there before the first loss, or Prometheus would not see that one
    const before = await scrape('/metrics');
    assert.match(before, /^lemniscate_attempts_lost_total\{pool="default",how="lost"\} 0$/m);
    for (const listener of ['public', 'internal'])
      assert.match(
        before,
        new RegExp(`^lemniscate_http_requests_total\\{listener="${listener}",status="5xx"\\} 0$`, 'm'),
      );
    assert.match(before, /^lemniscate_session_start_seconds_count\{pool="default"\} \d+$/m);
    assert.match(before, /^lemniscate_sessions_ended_total\{pool="default",reason="server_lost"\} 0$/m);
  });

  test('an invited server joins once, with its key only, and has one slot until it is approved', async () => {
    const { fleet, dispatcher } = await start([]);
    const newKey = () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return {
        publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    };
    const [own, other] = [newKey(), newKey()];
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const { body } = await dispatcher.call<{ token: string }>('POST', '/v1/server-invitations', {
      pool: 'default',
      capacity: 5,
      publicKeyPem: own.publicKeyPem,
    });
    const use = async (publicKeyPem: string, token = body.token) => {
      const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/server-invitations/use`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, publicKeyPem, url, capacity: 9 }),
      });
      return {
        status: answer.status,
        body: (await answer.json()) as { serverId: string; certificatePem: string },
      };
    };
    assert.equal((await use(other.publicKeyPem)).status, 401, 'another key');
    assert.equal((await use(own.publicKeyPem, 'lmj_guess')).status, 401, 'no token');
    const joined = await use(own.publicKeyPem);
    assert.equal(joined.status, 201);
    assert.equal((await use(own.publicKeyPem)).status, 401, 'a second time');
    const server = await startSimulatedAgentServer({
      name: joined.body.serverId,
      capacity: 9,
      authority: fleet.authority,
      joined: { certificatePem: joined.body.certificatePem, keyPem: own.keyPem, port },
      dispatcherUrl: fleet.internalUrl,
    });
    try {
      await within(
        30_000,
        'it has one slot',
        async () => (await seen(dispatcher, joined.body.serverId))?.usable === 1,
      );
      const ids = [await open(dispatcher), await open(dispatcher)];
      await within(30_000, 'one is placed', () => server.held.size === 1);
      const { serverId } = joined.body;
      const approval = `/v1/servers/${serverId}/approval`;
      const approved = await dispatcher.call('PUT', approval, undefined, await ofSeen(dispatcher, serverId));
      assert.equal(approved.status, 204);
      await within(30_000, 'both are placed', () => ids.every((id) => server.held.has(id)));
      assert.equal((await seen(dispatcher, joined.body.serverId))?.usable, 5);
      const left = await dispatcher.call('DELETE', `/v1/servers/${joined.body.serverId}`);
      assert.equal(left.status, 204);
      assert.equal(await seen(dispatcher, joined.body.serverId), undefined);
    } finally {
      await server.close();
    }
  });
});
