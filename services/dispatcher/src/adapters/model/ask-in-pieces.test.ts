import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Agent } from 'undici';
import { askInPieces } from '@lemniscate/shared/model/ask-in-pieces.ts';
import type { PieceAnswer } from '@lemniscate/shared/model/ask-in-pieces.ts';

const fault = (error: unknown): Error => new Error('the answer broke', { cause: error });

describe('an answer in pieces', () => {
  let server: Server;
  let agent: Agent;
  let origin: string;
  let play: (response: ServerResponse) => void;
  before(async () => {
    server = createServer((request, response) => {
      request.resume();
      play(response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    agent = new Agent();
  });
  beforeEach(() => {
    play = (response) => response.end('whole');
  });
  after(async () => {
    await agent.destroy();
    server.closeAllConnections();
    server.close();
  });

  const ask = (signal = new AbortController().signal, headersTimeout = 5_000): Promise<PieceAnswer> =>
    askInPieces(
      agent,
      { origin, path: '/', method: 'POST', headers: {}, body: 'x', headersTimeout, bodyTimeout: 5_000 },
      signal,
      fault,
    );
  const textOf = async (answer: PieceAnswer): Promise<string> => {
    let text = '';
    await answer.body.deliver((piece) => ((text += Buffer.from(piece).toString()), null));
    return text;
  };

  test('is delivered whole, with its status and headers', async () => {
    play = (response) => {
      response.writeHead(418, { 'X-Kind': 'tea' });
      response.write('half ');
      response.end('and half');
    };
    const answer = await ask();
    assert.equal(answer.statusCode, 418);
    assert.equal(answer.headers['x-kind'], 'tea');
    assert.equal(await textOf(answer), 'half and half');
  });

  test('waits for its reader, though it was whole before', async () => {
    const sent = Promise.withResolvers<void>();
    play = (response) => response.end('whole', () => sent.resolve());
    const answer = await ask();
    await sent.promise;
    assert.equal(await textOf(await ask()), 'whole');
    assert.equal(await textOf(answer), 'whole');
  });

  test('is read by iterating, one piece at a time', async () => {
    play = (response) => {
      for (let piece = 0; piece < 100; piece += 1) response.write(`${piece},`);
      response.end();
    };
    let text = '';
    for await (const piece of (await ask()).body) text += Buffer.from(piece).toString();
    assert.equal(text, Array.from({ length: 100 }, (_, piece) => `${piece},`).join(''));
  });

  test('is held up while its receiver is full', async () => {
    let written = 0;
    const total = 64 * 1024 * 1024;
    play = (response) => {
      const more = (): void => {
        while (written < total) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    };
    let read = 0;
    let room: (() => void) | undefined;
    const full = Promise.withResolvers<void>();
    const answer = await ask();
    const whole = answer.body.deliver((piece) => {
      read += piece.byteLength;
      if (room !== undefined) return null;
      return new Promise((resolve) => {
        room = resolve;
        full.resolve();
      });
    });
    // a second exchange has come and gone, and nothing more of the first has been read
    await full.promise;
    const before = read;
    play = (response) => response.end('whole');
    assert.equal(await textOf(await ask()), 'whole');
    assert.equal(read, before);
    assert.ok(written < total / 2, `${written} bytes were written for a receiver that takes none`);
    room?.();
    await whole;
    assert.equal(read, total);
  });

  test('that breaks off says so, by what its reader knows', async () => {
    play = (response) => {
      response.writeHead(200);
      response.write('half', () => response.destroy());
    };
    await assert.rejects(textOf(await ask()), { message: 'the answer broke' });
    await assert.rejects(async () => {
      for await (const _piece of (await ask()).body);
    }, /the answer broke/);
  });

  test('that breaks off before it is read says so as well', async () => {
    const broken = Promise.withResolvers<void>();
    play = (response) => {
      response.writeHead(200);
      response.write('half', () => response.destroy());
      response.once('close', () => broken.resolve());
    };
    const answer = await ask();
    await broken.promise;
    await assert.rejects(textOf(answer), { message: 'the answer broke' });
  });

  test('that is not wanted any more hangs up', async () => {
    const left = Promise.withResolvers<void>();
    play = (response) => {
      response.once('close', () => left.resolve());
      response.writeHead(200);
      response.write('half');
    };
    const leaving = new AbortController();
    const answer = await ask(leaving.signal);
    const read = textOf(answer);
    leaving.abort(new Error('enough'));
    await assert.rejects(read, (error: Error) => (error.cause as Error).message === 'enough');
    await left.promise;
  });

  test('whose reader stops iterating, or fails, hangs up', async () => {
    for (const read of [
      async (answer: PieceAnswer) => {
        for await (const _piece of answer.body) break;
      },
      (answer: PieceAnswer) =>
        assert.rejects(
          answer.body.deliver(() => {
            throw new Error('no room');
          }),
          (error: Error) => (error.cause as Error).message === 'no room',
        ),
      (answer: PieceAnswer) =>
        assert.rejects(
          answer.body.deliver(() => Promise.reject(new Error('no room'))),
          (error: Error) => (error.cause as Error).message === 'no room',
        ),
    ]) {
      const left = Promise.withResolvers<void>();
      play = (response) => {
        response.once('close', () => left.resolve());
        response.writeHead(200);
        response.write('half');
      };
      await read(await ask());
      await left.promise;
    }
  });

  test('is not asked for by who has left already, nor waited for without end', async () => {
    const reason = new Error('gone');
    await assert.rejects(ask(AbortSignal.abort(reason)), reason);
    const leaving = new AbortController();
    play = () => leaving.abort(reason);
    await assert.rejects(ask(leaving.signal), reason);
    play = () => undefined;
    await assert.rejects(ask(undefined, 1), { code: 'UND_ERR_HEADERS_TIMEOUT' });
  });

  test('that nobody wants is read for its connection, within a bound', async () => {
    let connections = 0;
    server.on('connection', () => (connections += 1));
    const own = new Agent({ connections: 1 });
    try {
      const askAlone = (): Promise<PieceAnswer> =>
        askInPieces(
          own,
          {
            origin,
            path: '/',
            method: 'POST',
            headers: {},
            body: '',
            headersTimeout: 5_000,
            bodyTimeout: 5_000,
          },
          new AbortController().signal,
          fault,
        );
      await (await askAlone()).body.drop(100);
      await (await askAlone()).body.drop(100);
      assert.equal(connections, 1);
      await (await askAlone()).body.drop(2);
      await (await askAlone()).body.drop(100);
      assert.equal(connections, 2);
    } finally {
      await own.destroy();
    }
  });
});
