import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { contentVersion } from './application/content-version.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const fleets: TestFleet[] = [];
// At once: a fleet that lives on keeps its connections, and works, beside the tests that follow.
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.remove();
});

async function start(roles?: readonly string[]) {
  const fleet = await createTestFleet({
    servers: [{ name: 'one', capacity: 50 }],
    ...(roles === undefined ? {} : { roles }),
  });
  fleets.push(fleet);
  const dispatcher = await fleet.startDispatcher();
  const [server] = fleet.servers;
  assert.ok(server);
  const open = async (): Promise<SessionView> =>
    (await dispatcher.call<SessionView>('POST', '/v1/sessions', ordinaryRequest)).body;
  return { fleet, dispatcher, server, open };
}

async function resume(dispatcher: TestDispatcher, scope: string): Promise<void> {
  const { body } = await dispatcher.call<{ paused: { scope: string; version: number }[] }>(
    'GET',
    '/v1/intake',
  );
  const version = body.paused.find((one) => one.scope === scope)?.version;
  const seen = { 'if-match': `"${version}"` };
  assert.equal((await dispatcher.call('DELETE', `/v1/intake/${scope}`, undefined, seen)).status, 200);
}

describe('intake', () => {
  for (const scope of ['fleet', 'pool:default', 'project:local'])
    test(`paused for ${scope}, sessions wait and say why; resumed, they start`, async () => {
      const { fleet, dispatcher, server, open } = await start();
      const running = await open();
      await within(30_000, 'it is placed', () => server.held.has(running.id));
      const answer = await dispatcher.call<{ paused: { scope: string; note: string }[] }>(
        'PUT',
        `/v1/intake/${scope}`,
        {
          note: 'moving house',
        },
      );
      assert.deepEqual(
        answer.body.paused.map((each) => [each.scope, each.note]),
        [[scope, 'moving house']],
      );
      const waiting = await open();
      // Another one behind it, so that admission has certainly looked.
      await open();
      await within(30_000, 'it says why it waits', async () => {
        const { queue } = await fleet.session(waiting.id);
        return queue !== null && queue.paused === scope.split(':')[0] && queue.estimatedWaitSeconds === null;
      });
      assert.ok(!server.held.has(waiting.id));
      assert.equal((await fleet.session(running.id)).state, 'starting');
      await resume(dispatcher, scope);
      await within(30_000, 'it is placed', () => server.held.has(waiting.id));
      const entries = await fleet.sql<{ type: string }>(
        `SELECT type FROM audit_entries WHERE chain = '${fleetChain}' AND type LIKE 'intake.%' ORDER BY seq`,
      );
      assert.deepEqual(
        entries.map(({ type }) => type),
        ['intake.paused', 'intake.resumed'],
      );
    });

  test('the kill switch ends everything, lets nothing start, and is on record', async () => {
    const { fleet, dispatcher, server, open } = await start();
    const live = await Promise.all(Array.from({ length: 12 }, () => open()));
    await within(30_000, 'all are placed', () => server.held.size === 12);
    const half = await dispatcher.call('POST', '/v1/fleet/stop', { confirm: 'yes' });
    assert.equal(half.status, 400);
    const { body } = await dispatcher.call<{ sessionsEnded: number }>('POST', '/v1/fleet/stop', {
      confirm: 'stop everything',
    });
    assert.equal(body.sessionsEnded, 12);
    for (const { id } of live) assert.equal((await fleet.session(id)).reason, 'revoked');
    await within(30_000, 'the server was told', () => server.destroyed.length >= 12);
    const late = await open();
    await within(30_000, 'it waits', async () => (await fleet.session(late.id)).queue?.paused === 'fleet');
    const [entry] = await fleet.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM audit_entries WHERE chain = '${fleetChain}' AND type = 'fleet.stopped'`,
    );
    assert.equal(entry?.n, 1);
    await resume(dispatcher, 'fleet');
    await within(30_000, 'what came after the stop starts', () => server.held.has(late.id));
  });

  test('a member may do neither', async () => {
    const { dispatcher } = await start(['member']);
    for (const [method, path, body] of [
      ['PUT', '/v1/intake/fleet', {}],
      ['DELETE', '/v1/intake/fleet', undefined],
      ['POST', '/v1/fleet/stop', { confirm: 'stop everything' }],
      ['PUT', '/v1/projects/local/queue', { weight: 1000 }],
    ] as const)
      assert.equal((await dispatcher.call(method, path, body)).status, 403, `${method} ${path}`);
  });

  test('queue settings change what is named and nothing else', async () => {
    const { dispatcher } = await start();
    const before = await dispatcher.call<Record<string, unknown>>('GET', '/v1/projects/local/queue');
    const seen = { 'if-match': `"${contentVersion(before.body)}"` };
    const put = (project: string, body: object) =>
      dispatcher.call('PUT', `/v1/projects/${project}/queue`, body, seen);
    assert.equal((await put('local', { weight: 0 })).status, 400);
    assert.equal((await put('nobody', { weight: 2 })).status, 404);
    const changed = await put('local', { weight: 7, maxBacklog: 20 });
    assert.deepEqual(changed.body, { ...before.body, weight: 7, maxBacklog: 20 });
  });
});
