import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { loadScripts } from '@lemniscate/dispatcher/adapters/model/scripted/load-scripts.ts';
import {
  createScriptedProvider,
  scriptedModel,
} from '@lemniscate/dispatcher/adapters/model/scripted/scripted-provider.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, runSession, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

/** What reached the provider's address: a server on this machine that speaks the Messages API in the vendor's place. */
interface Seen {
  readonly path: string;
  readonly key: string | string[] | undefined;
  readonly model: unknown;
}

const key = 'sk-ant-test-0123456789';
const seen: Seen[] = [];
let upstream: Server;
let site: TestFleet;
/** Answers to give before the real ones. */
const faults: { status: number; headers?: Record<string, string> }[] = [];

const undo = undoneAfterTests();

before(async () => {
  const provider = createScriptedProvider({ newId: () => randomUUID(), scripts: await loadScripts() });
  const answer = async (request: IncomingMessage) => {
    const body = (await json(request)) as Record<string, unknown>;
    seen.push({ path: request.url ?? '', key: request.headers['x-api-key'], model: body['model'] });
    return provider.send({
      endpoint: 'anthropic-messages',
      body: { ...body, model: scriptedModel },
      headers: {},
      signal: AbortSignal.timeout(30_000),
    });
  };
  upstream = createServer((request, response) => {
    const fault = faults.shift();
    if (fault !== undefined) {
      request.resume();
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      response.end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
      return;
    }
    answer(request).then(
      async ({ status, headers, body }) => {
        response.writeHead(status, headers);
        for await (const chunk of body) response.write(chunk);
        response.end();
      },
      (error: unknown) => response.destroy(error as Error),
    );
  });
  undo.defer(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  site = undo.adopt(
    await startTestFleet({
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    }),
    endFleet,
  );
});

test('with a key the sessions’ model is Anthropic’s, priced by the model that served it', async () => {
  const { session, events, audit } = await runSession(site, {
    repositoryFolder: sampleRepository(site.scratch, 'anthropic'),
  });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.match(session.model, /^claude-/);
  assert.equal(audit.fault, null);
  assert.ok(seen.length > 3);
  for (const exchange of seen)
    assert.deepEqual(exchange, { path: '/v1/messages', key, model: session.model }, 'our key, our model');
  assert.equal(JSON.stringify(events).includes(key), false, 'the key is nowhere in the session’s log');
});

test('an overloaded provider is asked again, and the session does not notice', async () => {
  faults.push(
    { status: 529, headers: { 'retry-after': '0' } },
    { status: 429, headers: { 'retry-after': '0' } },
  );
  const { session } = await runSession(site, {
    instruction: 'Run `git status`.',
    repositoryFolder: sampleRepository(site.scratch, 'overloaded'),
  });
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.equal(faults.length, 0);
});
