import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import { openModelPort } from './model-port.ts';

type PortContext = Parameters<typeof openModelPort>[0];

const notOurs = () => Promise.reject(new Error('nothing here may reach the gateway'));
const silent = { debug: notOurs, info: notOurs, warn: () => undefined, error: notOurs };

/** The port of a session, on a socket of the host instead of the sandbox' loopback. */
async function portFor(runtime: RuntimeName) {
  const closing = new AbortController();
  let connect: (connection: Socket) => void = () => undefined;
  const server = createServer((socket) => connect(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const context = {
    sandbox: {
      listen: (_port: number, onConnection: typeof connect) => {
        connect = onConnection;
        return Promise.resolve();
      },
    },
    order: { runtime, sessionId: 's', attempt: 1, relayToken: 't' },
    dispatcher: { relayModel: notOurs },
    lease: { hold: notOurs },
    log: silent,
    closing: closing.signal,
  } as unknown as PortContext;
  await openModelPort(context);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ask: async (path: string, body: string | Buffer = '{}') => {
      const answer = await request(`${origin}${path}`, { method: 'POST', body });
      return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
    },
    close: () => {
      closing.abort();
      server.close();
    },
  };
}

describe('what the port itself refuses', () => {
  let claude: Awaited<ReturnType<typeof portFor>>;
  let codex: Awaited<ReturnType<typeof portFor>>;
  before(async () => {
    claude = await portFor('claude-code');
    codex = await portFor('codex');
  });
  after(() => {
    claude.close();
    codex.close();
  });
  const message = 'There is nothing here but the model that the session uses.';

  test('has the shape of the API that the path belongs to, else of the program’s', async () => {
    const anthropic = { type: 'error', error: { type: 'not_found_error', message } };
    const openai = { error: { type: 'invalid_request_error', message, code: null, param: null } };
    assert.deepEqual(await claude.ask('/v1/messages/batches'), { status: 404, body: anthropic });
    assert.deepEqual(await codex.ask('/v1/responses/resp_1/cancel'), { status: 404, body: openai });
    assert.deepEqual(await codex.ask('/v1/chat/completions'), { status: 404, body: openai });
    assert.deepEqual(await claude.ask('/v1/files'), { status: 404, body: anthropic });
    assert.deepEqual(await codex.ask('/v1/files'), { status: 404, body: openai });
  });

  test('tells each program in its own words that its request is too long', async () => {
    const long = Buffer.alloc(32 * 1024 * 1024 + 1, ' ');
    const toClaude = await claude.ask('/v1/messages', long);
    const toCodex = await codex.ask('/v1/responses', long);
    const words = 'A request has at most 33554432 bytes.';
    assert.deepEqual(toClaude, {
      status: 413,
      body: { type: 'error', error: { type: 'request_too_large', message: words } },
    });
    assert.deepEqual(toCodex, {
      status: 413,
      body: { error: { type: 'invalid_request_error', message: words, code: null, param: null } },
    });
  });
});
