import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, Http2Server, Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { AnswerSink } from '../application/gateway/exchange.ts';
import { createAnswerSink } from './answer-sink.ts';

describe('answers that share a connection of HTTP/2', () => {
  let server: Http2Server;
  let client: ClientHttp2Session;
  let answer: (sink: AnswerSink, path: string) => Promise<void>;
  before(async () => {
    server = createServer((request, raw: Http2ServerResponse) => {
      const sink = createAnswerSink({ raw, hijack: () => undefined } as never);
      sink.begin(200, { 'content-type': 'text/event-stream' });
      void answer(sink, request.url);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(async () => {
    client?.destroy();
    client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(client, 'connect');
  });
  after(() => {
    client.destroy();
    server.close();
  });

  const ask = (path: string): ClientHttp2Stream => client.request({ ':path': path });
  async function textOf(stream: ClientHttp2Stream): Promise<string> {
    let text = '';
    for await (const piece of stream) text += String(piece);
    return text;
  }

  test('arrive whole and in order, many at the same time', async () => {
    answer = async (sink, path) => {
      for (let piece = 0; piece < 50; piece += 1) {
        const room = sink.write(Buffer.from(`${path} ${piece}\n`));
        if (room !== null) await room;
        if (piece % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      sink.end();
    };
    const paths = Array.from({ length: 90 }, (_, one) => `/${one}`);
    const texts = await Promise.all(paths.map((path) => textOf(ask(path))));
    for (const [index, path] of paths.entries())
      assert.equal(texts[index], Array.from({ length: 50 }, (_, piece) => `${path} ${piece}\n`).join(''));
  });

  test('wait for a slow reader each by itself, and the others go on', async () => {
    const written = new Map<string, number>();
    answer = async (sink, path) => {
      for (let piece = 0; piece < 200; piece += 1) {
        const room = sink.write(Buffer.alloc(10_000, 'x'));
        written.set(path, (written.get(path) ?? 0) + 10_000);
        if (room !== null) await room;
      }
      sink.end();
    };
    const idle = Array.from({ length: 70 }, (_, one) => ask(`/idle-${one}`));
    for (const stream of idle) stream.pause();
    const slow = ask('/slow');
    slow.pause();
    assert.equal((await textOf(ask('/fast'))).length, 2_000_000);
    assert.ok((written.get('/slow') ?? 0) < 500_000, `${written.get('/slow')} bytes were taken`);
    assert.equal((await textOf(slow)).length, 2_000_000);
  });

  test('that break are seen as broken', async () => {
    answer = (sink) => {
      void sink.write(Buffer.from('half'));
      sink.cut();
      return Promise.resolve();
    };
    const stream = ask('/cut');
    await assert.rejects(textOf(stream));
  });
});
