import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createTestAuthority } from '../testing/certificates.ts';
import { createDispatcherClient } from './dispatcher-client.ts';

/** A dispatcher's gateway that streams, and counts its connections; each answer is as long as its path says. */
async function startGateway(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-dispatcher-client-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority(folder);
  const ofDispatcher = await authority.issue('dispatcher', 'spiffe://lemniscate/dispatcher/test');
  const ofServer = await authority.issue('server', 'spiffe://lemniscate/agent-server/server-a');
  const sessions = new Set<ServerHttp2Session>();
  const held: number[] = [];
  const server = createSecureServer(
    {
      ca: authority.ca,
      cert: readFileSync(ofDispatcher.certFile),
      key: readFileSync(ofDispatcher.keyFile),
      requestCert: true,
      rejectUnauthorized: true,
      allowHTTP1: true,
    },
    (request: Http2ServerRequest, response: Http2ServerResponse) => void answer(request, response, held),
  );
  server.on('session', (session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = createDispatcherClient(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    ca: authority.ca,
    cert: readFileSync(ofServer.certFile, 'utf8'),
    key: readFileSync(ofServer.keyFile, 'utf8'),
    name: 'server-a',
    expiresAt: new Date(8.64e15),
  });
  t.after(async () => {
    await dispatcher.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { dispatcher, sessions, held };
}

const piece = Buffer.alloc(16 * 1024, 'x');

async function answer(request: Http2ServerRequest, response: Http2ServerResponse, held: number[]) {
  const pieces = Number(/(\d+)$/.exec(request.url)?.[1] ?? 0);
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const closed = once(response, 'close').then(() => true);
  for (let sent = 0; sent < pieces; sent += 1) {
    if (response.write(piece)) continue;
    held.push(sent);
    const drained = once(response, 'drain').then(() => false);
    if (await Promise.race([drained, closed])) return;
  }
  if (request.url.includes('/cut')) response.destroy(new Error('cut'));
  else response.end();
}

const ask = { headers: {}, body: Buffer.from('{}') };

test('answers share a connection, and one that nobody reads holds its provider up and no neighbour', async (t) => {
  const { dispatcher, sessions, held } = await startGateway(t);
  const stop = new AbortController();
  // Each is longer than what may be sent ahead on the connection, and eight are not read at all.
  const unread = await Promise.all(
    Array.from({ length: 8 }, () => dispatcher.relayModel('token', { ...ask, path: '/400' }, stop.signal)),
  );
  const read = await dispatcher.relayModel('token', { ...ask, path: '/400' }, stop.signal);
  let bytes = 0;
  for await (const got of read.body) bytes += got.length;
  assert.equal(bytes, 400 * piece.length);
  assert.equal(sessions.size, 1);
  assert.ok(held.length >= 8, 'the unread answers were taken into memory whole');
  stop.abort();
  for (const { body } of unread)
    await assert.rejects(async () => {
      for await (const _got of body);
    });
});

test('more answers than fit a connection open a second one', async (t) => {
  const { dispatcher, sessions } = await startGateway(t);
  const stop = new AbortController();
  const open = await Promise.all(
    Array.from({ length: 260 }, () => dispatcher.relayModel('token', { ...ask, path: '/40' }, stop.signal)),
  );
  assert.equal(open.length, 260);
  assert.equal(sessions.size, 2);
  stop.abort();
  await Promise.allSettled(
    open.map(async ({ body }) => {
      for await (const _got of body);
    }),
  );
});

test('pieces are handed on as they come and wait for who takes them; an answer that breaks off is told, either way', async (t) => {
  const { dispatcher } = await startGateway(t);
  const { signal } = new AbortController();
  const relay = (path: string) => dispatcher.relayModel('token', { ...ask, path }, signal);
  const whole = await relay('/40');
  let bytes = 0;
  let taking = 0;
  await whole.body.deliver?.((got) => {
    assert.equal(taking, 0, 'the next piece did not wait');
    taking += 1;
    bytes += got.length;
    return new Promise((resolve) => {
      setImmediate(() => {
        taking -= 1;
        resolve();
      });
    });
  });
  assert.equal(bytes, 40 * piece.length);

  const broken = { code: 'provider_failed', message: /was cut/ };
  const delivered = await relay('/cut/3');
  await assert.rejects(async () => delivered.body.deliver?.(() => null), broken);
  const iterated = await relay('/cut/3');
  await assert.rejects(async () => {
    for await (const _got of iterated.body);
  }, broken);
});
