import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { modelEndpoints } from '../../application/ports/model-provider.ts';
import type { ModelEndpoint, ModelProvider } from '../../application/ports/model-provider.ts';
import { dialects } from './dialects.ts';
import type { Dialect } from './dialects.ts';
import { createHttpProvider } from './http-provider.ts';
import { describeModelProvider } from './model-provider.contract.ts';
import { loadScripts } from './scripted/load-scripts.ts';
import { createScriptedProvider, scriptedModel } from './scripted/scripted-provider.ts';
import { readText } from './scripted/testing/read-message.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => Promise<void> | void;

const answer = { type: 'message', id: 'msg_1', content: [] };
const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

let server: Server;
let baseUrl: string;
let agent: Agent;
let handler: Handler;
let requests: { headers: IncomingMessage['headers']; body: string }[] = [];
let waits: number[] = [];

before(async () => {
  agent = new Agent({ connect: { timeout: 2000 }, keepAliveTimeout: 10 });
  server = createServer((request, response) => {
    void bodyOf(request).then(async (body) => {
      requests.push({ headers: request.headers, body });
      await handler(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await agent.destroy();
});
beforeEach(() => {
  requests = [];
  waits = [];
});

function provider(timeouts = {}, url = baseUrl, keys = ['sk-real']): ModelProvider {
  return createHttpProvider({
    name: 'anthropic',
    dialect: dialects.anthropic,
    keys: keys.map(secret),
    baseUrl: url,
    agent,
    clock: systemClock,
    delay: async (ms, signal) => {
      waits.push(ms);
      await delay(0, undefined, { signal });
    },
    timeouts: { headersMs: 5000, idleMs: 5000, retryMs: 5000, ...timeouts },
  });
}

const send = (target: ModelProvider, headers: Record<string, string> = {}) =>
  target.send({
    endpoint: 'anthropic-messages',
    body: { model: 'claude-x', max_tokens: 1, messages: [] },
    headers,
    signal: new AbortController().signal,
  });

/** What the path of a request asks for. */
const endpointOf = (url = ''): ModelEndpoint =>
  modelEndpoints.find((endpoint) =>
    [dialects.anthropic, dialects.openai].some(({ paths }: Dialect) => paths[endpoint] === url),
  ) ?? 'anthropic-messages';

describe('the contract, with a real HTTP server that plays the API', () => {
  before(async () => {
    let count = 0;
    const upstream = createScriptedProvider({
      newId: () => `u${(count += 1)}`,
      scripts: await loadScripts(),
    });
    handler = async (request, response, body) => {
      const played = await upstream.send({
        endpoint: endpointOf(request.url),
        body: JSON.parse(body) as Record<string, unknown>,
        headers: {},
        signal: new AbortController().signal,
      });
      response.writeHead(played.status, played.headers);
      for await (const chunk of played.body) response.write(chunk);
      response.end();
    };
  });
  describeModelProvider('anthropic', () => ({ provider: provider(), model: scriptedModel }));
  describeModelProvider('openai', () => ({
    provider: createHttpProvider({
      name: 'openai',
      dialect: dialects.openai,
      keys: [secret('sk-other')],
      baseUrl,
      agent,
      clock: systemClock,
      delay: async (ms, signal) => delay(ms, undefined, { signal }),
    }),
    model: scriptedModel,
  }));
});

describe('the Anthropic provider', () => {
  it('sends its own key, the version and the betas, and nothing of the sandbox', async () => {
    handler = (_request, response) => json(response, 200, answer);
    await readText(
      await send(provider(), {
        'x-api-key': 'relay-token',
        authorization: 'Bearer relay-token',
        'anthropic-beta': 'claude-code-20250219',
      }),
    );
    const headers = requests[0]?.headers ?? {};
    assert.equal(headers['x-api-key'], 'sk-real');
    assert.equal(headers['authorization'], undefined);
    assert.equal(headers['anthropic-version'], '2023-06-01');
    assert.equal(headers['anthropic-beta'], 'claude-code-20250219');
    assert.equal(headers['accept-encoding'], 'identity');
  });

  it('relays bytes unchanged, however they are cut', async () => {
    const bytes = Buffer.from('data: {"text":"Grüße, 世界 🎈"}\r\n\r\n'.repeat(50));
    handler = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let offset = 0; offset < bytes.length; offset += 7)
        response.write(bytes.subarray(offset, offset + 7));
      response.end();
    };
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await send(provider())).body) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).equals(bytes));
  });

  it('retries what is overloaded and honours retry-after', async () => {
    handler = (_request, response) =>
      requests.length < 3
        ? json(response, 529, { type: 'error' }, requests.length === 1 ? { 'retry-after': '2' } : {})
        : json(response, 200, answer);
    const response = await send(provider());
    assert.equal(response.status, 200);
    await readText(response);
    assert.deepEqual(waits, [2000, 1000]);
  });

  it('hands on a refusal whose wait would go past the deadline', async () => {
    handler = (_request, response) => json(response, 429, { type: 'error' }, { 'retry-after': '60' });
    const response = await send(provider());
    assert.deepEqual([response.status, response.headers['retry-after'], requests.length], [429, '60', 1]);
    await readText(response);
  });

  it('does not repeat a request that may have been served', async () => {
    handler = (request) => void request.socket.destroy();
    await assert.rejects(send(provider()), { code: 'provider_failed' });
    assert.equal(requests.length, 1);
    handler = (_request, response) => json(response, 500, { type: 'error' });
    assert.equal((await send(provider())).status, 500);
  });

  it('throws from the body, without a retry, when an answer breaks', async () => {
    handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: ping\ndata: {}\n\n', () => response.destroy());
    };
    const response = await send(provider());
    await assert.rejects(readText(response), { code: 'provider_failed' });
    assert.equal(requests.length, 1);
  });

  it('bounds the wait for an answer and the silence within it', async () => {
    handler = () => undefined;
    await assert.rejects(send(provider({ headersMs: 50 })), { code: 'provider_timeout' });
    handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: ping\ndata: {}\n\n');
    };
    const response = await send(provider({ idleMs: 50 }));
    await assert.rejects(readText(response), { code: 'provider_timeout' });
  });

  it('tries a place that refuses connections until the deadline, then says so', async () => {
    await assert.rejects(send(provider({ retryMs: 700 }, 'http://127.0.0.1:1')), { code: 'provider_failed' });
    assert.deepEqual(waits, [500]);
  });

  it('follows no redirect', async () => {
    handler = (_request, response) =>
      void response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    await assert.rejects(send(provider()), { code: 'provider_failed' });
    assert.equal(requests.length, 1);
  });

  it('takes keys in turn, and goes on with the next one when one is refused or at its limit', async () => {
    const keysSeen = (): unknown[] => requests.map(({ headers }) => headers['x-api-key']);
    handler = (request, response) =>
      request.headers['x-api-key'] === 'good'
        ? json(response, 200, answer)
        : json(response, request.headers['x-api-key'] === 'revoked' ? 401 : 429, { type: 'error' });
    const target = provider({}, baseUrl, ['revoked', 'spent', 'good']);
    assert.equal((await send(target)).status, 200);
    assert.deepEqual(keysSeen(), ['revoked', 'spent', 'good']);
    assert.equal((await send(target)).status, 200);
    // The two others rest.
    assert.deepEqual(keysSeen().slice(3), ['good']);
    assert.deepEqual(waits, []);
    assert.equal((await send(provider({}, baseUrl, ['revoked']))).status, 401);
  });
});
