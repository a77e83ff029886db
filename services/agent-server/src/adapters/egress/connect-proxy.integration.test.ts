import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { EgressReport } from '../../application/ports/egress.ts';
import { createServeEgress } from './connect-proxy.ts';
import { isPublicAddress } from './public-address.ts';

/** A host outside that says back what it hears, and a proxy whose names are made up. */
async function startBench(t: TestContext, isPublic: (address: string) => boolean = () => true) {
  const echo = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const { port } = echo.address() as AddressInfo;
  const names: Record<string, string[]> = {
    'good.example.com': ['127.0.0.1'],
    'inside.example.com': ['10.0.0.1'],
    'mixed.example.com': ['1.1.1.1', '169.254.169.254'],
  };
  const asked: string[] = [];
  const reports: EgressReport[] = [];
  const closing = new AbortController();
  const serve = createServeEgress({
    resolve: async (host) => {
      asked.push(host);
      const found = names[host];
      // whoever asks a second time is led elsewhere
      names[host] = ['127.0.0.2'];
      if (found === undefined) throw new Error('ENOTFOUND');
      return found;
    },
    isPublic,
  })({
    rules: [`*.example.com:${port}`, 'gone.example.org'],
    report: (what) => void reports.push(what),
    signal: closing.signal,
  });
  const proxy = createServer(serve).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const proxyPort = (proxy.address() as AddressInfo).port;
  t.after(() => {
    closing.abort();
    echo.close();
    proxy.close();
  });
  const open = (): Socket => {
    const socket = connect(proxyPort, '127.0.0.1');
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    return socket;
  };
  const ask = async (text: string): Promise<string> => {
    const socket = open();
    socket.write(text);
    const chunks: Buffer[] = [];
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      if (Buffer.concat(chunks).includes('\r\n\r\n')) break;
    }
    return Buffer.concat(chunks).toString('latin1');
  };
  return { port, open, ask, reports, asked, closing };
}

const connectTo = (host: string, port: number) =>
  `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;

test('a listed name is reached at the address that was looked at, and bytes pass both ways', async (t) => {
  const { port, open, reports, asked } = await startBench(t);
  const socket = open();
  // the first bytes of the tunnel may come with the request
  socket.write(`${connectTo('good.example.com', port)}hello `);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (text.includes('hello ') && !text.includes('again')) socket.write('again');
  });
  while (!text.endsWith('hello again')) await once(socket, 'data');
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.deepEqual(asked, ['good.example.com']);
  assert.deepEqual(reports, [{ host: 'good.example.com', port, outcome: 'connected', address: '127.0.0.1' }]);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  while (reports.length < 2) await new Promise(setImmediate);
  const end = reports[1];
  assert.ok(end?.outcome === 'closed');
  // what the mirror at the other end got, and what it said
  assert.deepEqual(
    [end.host, end.port, end.sentBytes, end.receivedBytes],
    ['good.example.com', port, 11, 11],
  );
  assert.ok(end.durationMs >= 0);
});

test('what is not listed, has no address, or is no CONNECT is refused and reported', async (t) => {
  const { port, ask, reports, asked } = await startBench(t);
  for (const [text, status, why] of [
    [connectTo('evil.example.org', port), 403, 'not_listed'],
    [connectTo('good.example.com', port + 1), 403, 'not_listed'],
    [connectTo('127.0.0.1', port), 403, 'not_listed'],
    [connectTo('[::1]', port), 400, 'malformed'],
    [connectTo('gone.example.org', 443), 502, 'unresolved'],
    ['GET http://good.example.com/ HTTP/1.1\r\n\r\n', 400, 'malformed'],
    [`CONNECT good.example.com:${port} HTTP/1.1\r\nX: ${'x'.repeat(9000)}`, 400, 'malformed'],
  ] as const) {
    assert.match(await ask(text), new RegExp(`^HTTP/1\\.1 ${status} `), text.slice(0, 60));
    const last = reports.at(-1);
    assert.equal(last?.outcome === 'refused' ? last.why : '', why);
  }
  assert.deepEqual(asked, ['gone.example.org'], 'no name is resolved that is not listed');
});

test('a name that leads inside is refused, also when one answer of several does', async (t) => {
  const { port, ask, reports } = await startBench(t, isPublicAddress);
  for (const host of ['inside.example.com', 'mixed.example.com', 'good.example.com'])
    assert.match(await ask(connectTo(host, port)), /^HTTP\/1\.1 403 /);
  assert.deepEqual(
    reports.map((report) => (report.outcome === 'refused' ? report.why : report.outcome)),
    ['private_address', 'private_address', 'private_address'],
  );
});

test('connections are bounded in number, and end with the session', async (t) => {
  const { port, open, ask, reports, closing } = await startBench(t);
  const held = Array.from({ length: 64 }, open);
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  assert.match(await ask(connectTo('good.example.com', port)), /^HTTP\/1\.1 429 /);
  assert.equal(reports.at(-1)?.outcome, 'refused');
  const ended = held.map((socket) => once(socket, 'close'));
  closing.abort();
  await Promise.all(ended);
});
