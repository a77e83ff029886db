import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { closeWhenIdle } from './close-when-idle.ts';

const idleMs = 40;

test('a session without a stream is closed, one with an open stream is not, and is once the stream has ended', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  const open: ServerHttp2Stream[] = [];
  server.on('session', (session) => closeWhenIdle(session, idleMs));
  server.on('stream', (stream) => {
    stream.respond();
    open.push(stream);
  });
  await once(server, 'listening');
  t.after(() => server.close());
  const start = () => {
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.after(() => session.destroy());
    return session;
  };
  const signal = AbortSignal.timeout(30_000);

  const busy = start();
  const stream = busy.request();
  await once(stream, 'response', { signal });
  // Each of these stands for one time of idleness.
  for (let idle = 0; idle < 4; idle += 1) await once(start(), 'close', { signal });
  assert.equal(busy.closed || busy.destroyed, false);

  const closed = once(busy, 'close', { signal });
  let text = '';
  stream.on('data', (bytes) => (text += String(bytes)));
  for (const answer of open) answer.end('all of it');
  await closed;
  assert.equal(text, 'all of it');
});
