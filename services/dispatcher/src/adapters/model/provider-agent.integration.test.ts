import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Agent } from 'undici';
import { askInPieces } from '@lemniscate/shared/model/ask-in-pieces.ts';
import type { PieceAnswer } from '@lemniscate/shared/model/ask-in-pieces.ts';
import { createTestAuthority } from '../../testing/certificates.ts';
import { createProviderAgent } from './provider-agent.ts';

const whole = randomBytes(48 * 1024 * 1024);
const small = Buffer.from('data: a word\n\n');
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Bytes of the long answer that the server has handed on so far. */
let handedOn = 0;
/** Set: the answer breaks off there. Bytes. */
let breaksAt = Number.POSITIVE_INFINITY;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  await once(request, 'end');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (request.url === '/small') return void response.end(small);
  handedOn = 0;
  const gone = once(response, 'close');
  while (handedOn < whole.length) {
    if (handedOn >= breaksAt) return void response.destroy(new Error('it breaks off'));
    // No multiple of what is read at once.
    const piece = whole.subarray(handedOn, handedOn + 100_003);
    handedOn += piece.length;
    if (!response.write(piece)) await Promise.race([drained(response), gone]);
    if (response.destroyed) return;
  }
  response.end();
}
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => void response.once('drain', () => resolve()));
const handler = (request: IncomingMessage, response: ServerResponse): void => {
  serve(request, response).catch((error: unknown) => response.destroy(error as Error));
};

const protocols = {
  'HTTP/1.1': () => createServer(handler),
  'HTTP/1.1 over TLS': (tls: object) => createTlsServer(tls, handler),
  'HTTP/2': (tls: object) => createSecureServer(tls, handler as never),
} as const;

let authority: Awaited<ReturnType<typeof createTestAuthority>>;
before(async () => {
  authority = await createTestAuthority();
});
after(() => authority.remove());

for (const [name, createServerOf] of Object.entries(protocols))
  describe(`connections to a provider that speaks ${name}`, () => {
    let server: Server;
    let agent: Agent;
    let origin: string;
    before(async () => {
      const files = await authority.issue('spiffe://lemniscate/provider/test');
      server = createServerOf({ cert: readFileSync(files.cert), key: readFileSync(files.key) });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const scheme = name === 'HTTP/1.1' ? 'http' : 'https';
      origin = `${scheme}://localhost:${(server.address() as AddressInfo).port}`;
      agent = createProviderAgent({ ca: readFileSync(authority.ca) });
    });
    after(async () => {
      await agent.destroy();
      server.close();
    });

    const ask = (path: string): Promise<PieceAnswer> =>
      askInPieces(
        agent,
        {
          origin,
          path,
          method: 'POST',
          headers: {},
          body: '{}',
          headersTimeout: 20_000,
          bodyTimeout: 20_000,
        },
        new AbortController().signal,
        (error) => error,
      );
    const readWhole = async (answer: PieceAnswer): Promise<Buffer> => {
      const pieces: Uint8Array[] = [];
      await answer.body.deliver((piece) => {
        pieces.push(piece);
        return null;
      });
      return Buffer.concat(pieces);
    };

    test('what is read together stays what it was, however long it is kept', async () => {
      const answers = await Promise.all(
        ['/small', '/whole', '/small'].map(async (path) => readWhole(await ask(path))),
      );
      assert.deepEqual(answers.map(digestOf), [small, whole, small].map(digestOf));
    });

    test('a reader without room holds the provider up, and then gets the rest', async () => {
      const room = Promise.withResolvers<void>();
      const pieces: Uint8Array[] = [];
      const read = (await ask('/whole')).body.deliver((piece) => {
        pieces.push(piece);
        return pieces.length === 1 ? room.promise : null;
      });
      // Held up: whole exchanges pass beside it and it does not move.
      for (let before = -1; before !== handedOn;) {
        before = handedOn;
        for (let beside = 0; beside < 20; beside += 1) await readWhole(await ask('/small'));
      }
      assert.ok(handedOn < whole.length, `all of ${handedOn} bytes were taken`);
      room.resolve();
      await read;
      assert.equal(digestOf(Buffer.concat(pieces)), digestOf(whole));
    });

    test('an answer that breaks off is told', async () => {
      breaksAt = 1_000_000;
      try {
        await assert.rejects(readWhole(await ask('/whole')));
      } finally {
        breaksAt = Number.POSITIVE_INFINITY;
      }
    });
  });
