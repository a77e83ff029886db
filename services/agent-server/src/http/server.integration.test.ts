import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { Agent } from 'undici';
import type { SessionDesk } from '../application/sessions/session-desk.ts';
import { createTestAuthority } from '../testing/certificates.ts';
import { createServer, listen } from './server.ts';

/** The routes over real TLS, above a desk that takes everything. */
async function startServer(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-http-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority(folder);
  const own = await authority.issue('own', 'spiffe://lemniscate/agent-server/one');
  const taken: unknown[] = [];
  const desk = {
    take: (order) => taken.push(order),
    remove: () => undefined,
    command: () => undefined,
  } as Partial<SessionDesk>;
  const status = () => ({
    protocol: 1 as const,
    bootId: 'b',
    capacity: 1,
    held: [],
    warm: 0,
    driver: 'd',
    profiles: [],
    draining: false,
  });
  const app = createServer(
    { ca: authority.ca, ...own },
    { desk: desk as SessionDesk, status, collectMetrics: async () => [] },
    pino({ level: 'silent' }),
  );
  t.after(() => app.close());
  const port = await listen(app, '127.0.0.1', 0);
  const ask = async (
    client: { cert?: string; key?: string },
    method: 'GET' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ) => {
    const agent = new Agent({ connect: { ca: authority.ca, ...client } });
    try {
      const headers = { 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
      const answer = await agent.request({ origin: `https://127.0.0.1:${port}`, path, method, ...sent });
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        type: answer.headers['content-type'],
        body: text === '' ? null : JSON.parse(text),
      };
    } finally {
      await agent.destroy();
    }
  };
  return { authority, folder, port, app, taken, ask };
}

test('only a dispatcher’s certificate may speak of sessions; any service’s may ask for health', async (t) => {
  const { authority, folder, ask } = await startServer(t);
  const dispatcher = await authority.issue('d', 'spiffe://lemniscate/dispatcher/one');
  const neighbour = await authority.issue('n', 'spiffe://lemniscate/agent-server/two');
  const nobody = await authority.issue('x', 'https://example.test/');
  const stranger = await (
    await createTestAuthority(folder, 'other')
  ).issue('s', 'spiffe://lemniscate/dispatcher/one');
  assert.equal((await ask(dispatcher, 'GET', '/status')).status, 200);
  const refused = await ask(neighbour, 'GET', '/status');
  assert.deepEqual(
    [refused.status, refused.type, refused.body.code],
    [403, 'application/problem+json; charset=utf-8', 'certificate_refused'],
  );
  assert.match(refused.body.detail, /agent-server/);
  assert.equal((await ask(neighbour, 'DELETE', '/sessions/s_1?attempt=1')).status, 403);
  assert.equal((await ask(neighbour, 'GET', '/healthz')).status, 200);
  assert.equal((await ask(nobody, 'GET', '/healthz')).status, 403);
  await assert.rejects(ask(stranger, 'GET', '/healthz'));
  await assert.rejects(ask({}, 'GET', '/healthz'));
});

test('what does not fit is refused with a problem document and takes nothing', async (t) => {
  const { authority, taken, ask } = await startServer(t);
  const dispatcher = await authority.issue('d', 'spiffe://lemniscate/dispatcher/one');
  const bad = await ask(dispatcher, 'PUT', '/sessions/s_1', { sessionId: 's_1', attempt: 0 });
  assert.deepEqual([bad.status, bad.body.code], [400, 'request_invalid']);
  assert.match(bad.body.detail, /attempt/);
  assert.equal((await ask(dispatcher, 'PUT', '/sessions/..%2Fetc', {})).status, 400);
  assert.equal((await ask(dispatcher, 'DELETE', '/sessions/s_1')).status, 400);
  assert.equal((await ask(dispatcher, 'DELETE', '/sessions/s_1?attempt=1')).status, 204);
  const missing = await ask(dispatcher, 'GET', '/nothing');
  assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
  assert.equal(taken.length, 0);
});

test('a taken port is named', async (t) => {
  const { authority, port } = await startServer(t);
  const own = await authority.issue('second', 'spiffe://lemniscate/agent-server/two');
  const second = createServer({ ca: authority.ca, ...own }, {} as never, pino({ level: 'silent' }));
  t.after(() => second.close());
  await assert.rejects(listen(second, '127.0.0.1', port), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'port_in_use');
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*LEMNISCATE_SERVER_PORT`));
    return true;
  });
});
