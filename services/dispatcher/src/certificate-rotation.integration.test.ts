import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { test } from 'node:test';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { watchAsBalancer } from './testing/balancer.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

test('dispatchers take new certificates one after the other: the API answers throughout and no session is lost', async (t) => {
  const fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 5 }] });
  t.after(() => fleet.remove());
  const ports = [];
  for (let index = 0; index < 2; index += 1)
    ports.push({
      LEMNISCATE_PORT: String(await freePort()),
      LEMNISCATE_INTERNAL_PORT: String(await freePort()),
    });
  const dispatchers: (TestDispatcher | null)[] = [];
  for (const own of ports) dispatchers.push(await fleet.startDispatcher(own));
  const peer = await fleet.authority.issue(serviceUri('agent-server', 'looks'));

  /** What the internal listener of a dispatcher shows. */
  const shown = async (port: string | undefined): Promise<string> => {
    const socket = connect({
      port: Number(port),
      host: '127.0.0.1',
      ca: readFileSync(fleet.authority.ca),
      cert: readFileSync(peer.cert),
      key: readFileSync(peer.key),
      checkServerIdentity: () => undefined,
    });
    await once(socket, 'secureConnect');
    const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? assert.fail('no certificate');
    socket.destroy();
    return fingerprint;
  };

  const balancer = watchAsBalancer(dispatchers, '/v1/me');

  const open = async (): Promise<string> => {
    const [first, second] = dispatchers;
    const through = first ?? second ?? assert.fail('nobody is there');
    return (await through.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest)).body.id;
  };
  const sessions = [await open()];
  for (const [index, own] of ports.entries()) {
    const before = await shown(own.LEMNISCATE_INTERNAL_PORT);
    const old = dispatchers[index];
    dispatchers[index] = null;
    await old?.stop();
    sessions.push(await open());
    const fresh = await fleet.authority.issue(serviceUri('dispatcher', 'test'));
    const files = { LEMNISCATE_TLS_CERT: fresh.cert, LEMNISCATE_TLS_KEY: fresh.key };
    dispatchers[index] = await fleet.startDispatcher({ ...own, ...files });
    assert.notEqual(await shown(own.LEMNISCATE_INTERNAL_PORT), before);
    await balancer.hasSeenAll();
  }
  sessions.push(await open());
  const placed = async (): Promise<{ attempt: number; losses: number; server_id: string | null }[]> =>
    fleet.sql('SELECT attempt, losses, server_id FROM sessions WHERE id = ANY($1)', [sessions]);
  await within(30_000, 'all sessions are placed', async () =>
    (await placed()).every(({ attempt }) => attempt > 0),
  );
  assert.deepEqual(
    (await placed()).map(({ attempt, losses, server_id: server }) => [attempt, losses, server]),
    sessions.map(() => [1, 0, 'alpha']),
  );
  const { asked, unanswered } = await balancer.end();
  assert.ok(asked > 20);
  assert.equal(unanswered, 0);
});
