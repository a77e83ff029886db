import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { request as requestOverHttp1 } from 'node:https';
import { test } from 'node:test';
import { createNewId } from '@lemniscate/shared/id.ts';
import { createTestAuthority } from '../testing/certificates.ts';
import { servePeople, serveServers } from '../testing/traffic/apps.ts';
import { serverOf } from './identity.ts';

const newId = createNewId();

async function serveNames(t: { after(end: () => Promise<void>): void }) {
  const internal = await serveServers(newId, (app) => {
    app.get('/name', (request) => ({ name: serverOf(request).serverId, version: request.raw.httpVersion }));
  });
  t.after(internal.close);
  return internal;
}

async function ask(session: ClientHttp2Session, path: string): Promise<{ status: unknown; body: string }> {
  const stream = session.request({ ':path': path });
  const closed = once(stream, 'close').then(() => Promise.reject(new Error('closed without an answer')));
  const [headers] = (await Promise.race([once(stream, 'response'), closed])) as [Record<string, unknown>];
  let body = '';
  for await (const piece of stream) body += String(piece);
  return { status: headers[':status'], body };
}

test('many streams of one connection are each known by the certificate of the connection', async (t) => {
  const internal = await serveNames(t);
  const session = connect(`https://localhost:${internal.port}`, internal.servers.b);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(session, '/name')));
  for (const answer of answers)
    assert.deepEqual(answer, { status: 200, body: JSON.stringify({ name: 'server-b', version: '2.0' }) });
  session.destroy();
});

test('HTTP/1.1 is spoken beside it', async (t) => {
  const internal = await serveNames(t);
  const sent = requestOverHttp1(`https://localhost:${internal.port}/name`, {
    ...internal.servers.a,
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer>];
  let body = '';
  for await (const piece of response) body += String(piece);
  assert.equal(body, JSON.stringify({ name: 'server-a', version: '1.1' }));
});

test('a certificate of somebody else, or none, opens no stream', async (t) => {
  const internal = await serveNames(t);
  const strangers = await createTestAuthority();
  t.after(() => strangers.remove());
  const foreign = await strangers.issue('spiffe://lemniscate/agent-server/server-a');
  const shown = { cert: readFileSync(foreign.cert), key: readFileSync(foreign.key) };
  for (const identity of [shown, {}]) {
    const session = connect(`https://localhost:${internal.port}`, { ca: internal.servers.a.ca, ...identity });
    session.on('error', () => undefined);
    await assert.rejects(ask(session, '/name'));
    session.destroy();
  }
});

test('a listener that closes ends the streams that stand open', { timeout: 60_000 }, async () => {
  const internal = await serveServers(newId, (app) => {
    app.get('/open', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200);
      reply.raw.flushHeaders();
    });
  });
  const session = connect(`https://localhost:${internal.port}`, internal.servers.a);
  session.on('error', () => undefined);
  const stream = session.request({ ':path': '/open' });
  stream.on('error', () => undefined);
  await once(stream, 'response');
  const [, ended] = await Promise.all([internal.close(), once(session, 'close')]);
  assert.ok(ended);
});

test('the listener of people speaks no HTTP/2', async (t) => {
  const people = await servePeople(newId, () => undefined);
  t.after(people.close);
  const session = connect(`http://127.0.0.1:${people.port}`);
  const [error] = (await once(session, 'error')) as [Error & { code?: string }];
  assert.match(error.code ?? '', /ERR_HTTP2|ECONNRESET/);
});
