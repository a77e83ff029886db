import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { test } from 'node:test';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { createTestAuthority } from './testing/certificates.ts';
import type { TestCertificate } from './testing/certificates.ts';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';

test(
  'an authority takes over from another without a pause: both are believed, then only the new one',
  { timeout: 120_000 },
  async (t) => {
    const next = await createTestAuthority('next authority');
    t.after(() => next.remove());
    const fleet = await createTestFleet({
      servers: [{ name: 'alpha', capacity: 5 }],
      alsoBelieved: readFileSync(next.ca, 'utf8'),
    });
    t.after(() => fleet.remove());
    const peers = {
      old: await fleet.authority.issue(serviceUri('agent-server', 'looks')),
      next: await next.issue(serviceUri('agent-server', 'looks')),
    };

    const port = await freePort();
    const ports = { LEMNISCATE_PORT: String(await freePort()), LEMNISCATE_INTERNAL_PORT: String(port) };

    /** Whether the internal listener takes a caller with the certificate. */
    const taken = async (peer: TestCertificate): Promise<boolean> => {
      const socket = connect({
        port,
        host: '127.0.0.1',
        ca: [readFileSync(fleet.authority.ca), readFileSync(next.ca)],
        cert: readFileSync(peer.cert),
        key: readFileSync(peer.key),
        checkServerIdentity: () => undefined,
      });
      try {
        await once(socket, 'secureConnect');
        socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
        const answered = once(socket, 'data').then(() => true);
        return await Promise.race([answered, once(socket, 'close').then(() => false)]);
      } catch (error) {
        // TLS 1.3 tells of a refused certificate only behind the handshake.
        assert.match(String(error), /alert|ECONNRESET|socket hang up/);
        return false;
      } finally {
        socket.destroy();
      }
    };
    const ownOf = async (authority: typeof next) => {
      const own = await authority.issue(serviceUri('dispatcher', 'test'));
      return { ...ports, LEMNISCATE_TLS_CERT: own.cert, LEMNISCATE_TLS_KEY: own.key };
    };

    const before = await fleet.startDispatcher(ports);
    assert.deepEqual([await taken(peers.old), await taken(peers.next)], [true, true]);
    const { id } = (await before.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest)).body;
    await fleet.until(id, 'starting');
    await before.stop();

    // The dispatcher has its certificate of the new authority, the server still one of the old.
    const between = await fleet.startDispatcher(await ownOf(next));
    assert.equal(await taken(peers.old), true);
    const opened = await between.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest);
    const session = await fleet.until(opened.body.id, 'starting');
    assert.equal(session.server, 'alpha');
    await between.stop();

    await fleet.startDispatcher({
      ...(await ownOf(next)),
      LEMNISCATE_TLS_CA: next.ca,
      LEMNISCATE_CA_KEY: next.caKey,
    });
    assert.deepEqual([await taken(peers.old), await taken(peers.next)], [false, true]);
  },
);

test('two authorities of one name are refused at the start', async (t) => {
  const twin = await createTestAuthority();
  t.after(() => twin.remove());
  const fleet = await createTestFleet({ servers: [], alsoBelieved: readFileSync(twin.ca, 'utf8') });
  t.after(() => fleet.remove());
  await assert.rejects(fleet.startDispatcher(), /holds two authorities named CN=test authority/);
  writeFileSync(fleet.authority.ca, 'nothing');
  await assert.rejects(fleet.startDispatcher(), /holds no certificate in PEM/);
});
