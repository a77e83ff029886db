import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createBodyRoom } from './request-body.ts';

const maxBytes = 200_000;
const maxHeldBytes = 300_000;

/** A server that says what it took, and holds a body until it is told. */
async function serve(t: TestContext) {
  const room = createBodyRoom({ maxBytes, maxHeldBytes });
  const held = new Map<string, () => void>();
  const server = createServer((incoming, response) => {
    room.take(incoming).then(
      (body) => {
        const end = (): void => {
          if (body.kind === 'taken') body.done();
          response.writeHead(200, { connection: 'close' }).end(body.kind);
        };
        if (body.kind === 'taken' && incoming.url === '/held') held.set('one', end);
        else end();
      },
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = (path = '/'): ClientRequest =>
    request({
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      path,
      method: 'POST',
      agent: false,
    });
  const post = async (bytes: number, path?: string): Promise<string> => {
    const sent = open(path);
    sent.end(Buffer.alloc(bytes));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return text(response);
  };
  const holding = async (): Promise<() => void> => {
    while (!held.has('one')) await new Promise((resolve) => setImmediate(resolve));
    return held.get('one') ?? assert.fail();
  };
  return { open, post, holding };
}

test('a body is taken whole, and one that is too large is refused to a sender that still writes', async (t) => {
  const { post } = await serve(t);
  assert.equal(await post(maxBytes), 'taken');
  for (let round = 0; round < 5; round += 1) assert.equal(await post(3 * maxBytes), 'too_large');
  assert.equal(await post(maxBytes), 'taken', 'what was refused holds nothing');
});

test('all bodies together have a bound, and room comes back when one ends', async (t) => {
  const { post, holding } = await serve(t);
  const first = post(maxBytes, '/held');
  const end = await holding();
  assert.equal(await post(maxBytes), 'no_room');
  assert.equal(await post(maxHeldBytes - maxBytes), 'taken');
  end();
  assert.equal(await first, 'taken');
  assert.equal(await post(maxBytes), 'taken');
});

test('a sender that leaves in the middle gives its room back', async (t) => {
  const { open, post } = await serve(t);
  for (let round = 0; round < 4; round += 1) {
    const sent = open();
    sent.on('error', () => undefined);
    await new Promise((resolve) => sent.write(Buffer.alloc(maxBytes - 1), resolve));
    const closed = new Promise((resolve) => sent.on('close', resolve));
    sent.destroy();
    await closed;
  }
  // The server hears of each a moment later.
  let answer = '';
  for (let asked = 0; asked < 1_000 && answer !== 'taken'; asked += 1) answer = await post(maxBytes);
  assert.equal(answer, 'taken');
});

test('a sender without an end is cut off', async (t) => {
  const { open } = await serve(t);
  const sent = open();
  const closed = Promise.withResolvers<void>();
  sent.on('error', () => closed.resolve());
  sent.on('response', (response: IncomingMessage) => response.resume().on('close', () => closed.resolve()));
  const written = async (): Promise<'more'> => {
    await new Promise((resolve) => sent.write(Buffer.alloc(64 * 1024), resolve));
    return 'more';
  };
  while ((await Promise.race([written(), closed.promise.then(() => 'closed')])) === 'more');
  sent.destroy();
});
