import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { startSimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

interface Joined {
  readonly serverId: string;
  readonly certificatePem: string;
  readonly caPem: string;
  readonly internalUrl: string;
}

describe('a workstation', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'pool-1', capacity: 5 }] });
    dispatcher = await fleet.startDispatcher();
  });
  after(() => fleet.remove());

  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const join = () => dispatcher.call<Joined>('POST', '/v1/servers', { publicKeyPem, capacity: 1 });
  const create = (extra: object) =>
    dispatcher.call<SessionView & Problem>('POST', '/v1/sessions', { ...ordinaryRequest, ...extra });
  const pinnedTo = (server: string) => ({ execution: 'workstation', surface: 'terminal', server });

  test('joins with its own key and takes the sessions that are pinned to it, and no others', async () => {
    const { body: joined, status } = await join();
    assert.equal(status, 201, JSON.stringify(joined));
    assert.equal(joined.internalUrl, fleet.internalUrl());
    const certificate = new X509Certificate(joined.certificatePem);
    assert.match(
      certificate.subjectAltName ?? '',
      new RegExp(`URI:spiffe://lemniscate/agent-server/${joined.serverId}(,|$)`),
    );
    assert.ok(Date.parse(certificate.validTo) - Date.now() < 13 * 3_600_000);
    const server = await startSimulatedAgentServer({
      name: joined.serverId,
      capacity: 1,
      authority: fleet.authority,
      // It listens as every simulated server does; nobody is told where.
      joined: { certificatePem: joined.certificatePem, keyPem, port: 0 },
      dispatcherUrl: () => joined.internalUrl,
    });
    try {
      server.startHeartbeats(200);
      server.startFetching();
      const pinned = await create(pinnedTo(joined.serverId));
      const free = await create({});
      await within(30_000, 'the pinned session is on the workstation', () => server.held.has(pinned.body.id));
      await within(
        30_000,
        'the other is on the pool',
        () => fleet.servers[0]?.held.has(free.body.id) ?? false,
      );
      assert.equal(server.held.size, 1);
      const stopped = await dispatcher.call('POST', `/v1/sessions/${pinned.body.id}/stop`, {});
      assert.equal(stopped.status, 200, JSON.stringify(stopped.body));
      await within(30_000, 'the stop has reached it', () =>
        server.destroyed.some((gone) => gone.sessionId === pinned.body.id),
      );
    } finally {
      await server.close();
    }
  });

  test('takes only its own person, and only for execution workstation', async () => {
    const { body: joined } = await join();
    const asPool = await create({ server: joined.serverId });
    assert.equal(asPool.body.code, 'execution_refused');
    await fleet.sql(`UPDATE agent_servers SET pinned_to = 'somebody' WHERE id = $1`, [joined.serverId]);
    const foreign = await create(pinnedTo(joined.serverId));
    assert.equal(foreign.status, 403);
    const leave = await dispatcher.call<Problem>('DELETE', `/v1/servers/${joined.serverId}`);
    assert.equal(leave.status, 403);
    const pool = await dispatcher.call<Problem>('DELETE', '/v1/servers/pool-1');
    assert.equal(pool.status, 403);
  });

  test('leaves, and a session that still waits for it ends with that sentence', async () => {
    const { body: joined } = await join();
    const waiting = await create(pinnedTo(joined.serverId));
    assert.equal(waiting.status, 202, JSON.stringify(waiting.body));
    assert.equal((await dispatcher.call('DELETE', `/v1/servers/${joined.serverId}`)).status, 204);
    const ended = await fleet.until(waiting.body.id, 'failed');
    assert.equal(ended.reason, 'no_capacity');
    assert.match(ended.message ?? '', /has left/);
    const entries = await fleet.sql<{ type: string }>(
      `SELECT type FROM audit_entries WHERE chain = 'fleet:main' AND type LIKE 'server.%' ORDER BY seq DESC LIMIT 2`,
    );
    assert.deepEqual(
      entries.map((entry) => entry.type),
      ['server.left', 'server.joined'],
    );
  });

  test('joins with a readable key only, and names no address', async () => {
    const refused = async (body: object): Promise<void> => {
      const answer = await dispatcher.call<Problem>('POST', '/v1/servers', body);
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.equal(answer.body.code, 'request_invalid');
    };
    await refused({ publicKeyPem, url: 'https://127.0.0.1:1', capacity: 1 });
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({
      type: 'spki',
      format: 'pem',
    });
    for (const key of ['nothing', weak.toString()]) await refused({ publicKeyPem: key, capacity: 1 });
  });

  test('does not wait behind a hundred others that are silent', async () => {
    const all: Joined[] = [];
    for (let count = 0; count < 130; count += 1) {
      const { body, status } = await join();
      assert.equal(status, 201, JSON.stringify(body));
      all.push(body);
    }
    // Who is asked for first is the first by name.
    all.sort((left, right) => (left.serverId < right.serverId ? -1 : 1));
    const last = all.pop();
    assert.ok(last);
    for (const { serverId } of all)
      assert.equal((await create(pinnedTo(serverId))).status, 202, 'one waits for each of them');
    const server = await startSimulatedAgentServer({
      name: last.serverId,
      capacity: 1,
      authority: fleet.authority,
      joined: { certificatePem: last.certificatePem, keyPem, port: 0 },
      dispatcherUrl: () => last.internalUrl,
    });
    try {
      server.startHeartbeats(200);
      server.startFetching();
      const { body } = await create(pinnedTo(last.serverId));
      await within(30_000, 'its session is on it', () => server.held.has(body.id));
    } finally {
      await server.close();
    }
  });
});
