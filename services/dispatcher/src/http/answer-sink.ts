import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { AnswerSink } from '../application/gateway/exchange.ts';

/** The raw response: chunks go out as they came in, and a slow client holds the provider up, not the memory. */
export function createAnswerSink(reply: FastifyReply): AnswerSink {
  const { raw } = reply;
  const way = wayOf(raw);
  // An answer of HTTP/2 does not say of itself that it is destroyed.
  let gone = false;
  raw.once('close', () => {
    gone = true;
  });
  return {
    begin: (status, headers) => {
      reply.hijack();
      raw.writeHead(status, { ...headers, 'x-accel-buffering': 'no' });
      raw.flushHeaders();
    },
    write: (bytes) => (gone || way.write(bytes) ? null : drained(raw)),
    end: () => void raw.end(),
    cut: () => cut(raw),
  };
}

/** The stream of HTTP/2 itself: what its likeness to HTTP/1.1 looks at for each piece was a tenth of a piece's cost. */
function wayOf(raw: ServerResponse | Http2ServerResponse): Writable {
  return 'stream' in raw ? raw.stream : raw;
}

/** A stream of HTTP/2 that is destroyed without an error ends for its reader as if it were whole. */
function cut(raw: ServerResponse): void {
  raw.destroy(raw.req.httpVersionMajor === 2 ? new Error('the answer broke off') : undefined);
}

/** A client that takes nothing for so long is cut. Milliseconds. */
const stallMs = 120_000;

function drained(raw: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => cut(raw), stallMs);
  const done = (): void => resolve();
  raw.on('drain', done);
  raw.on('close', done);
  return promise.finally(() => {
    clearTimeout(timer);
    raw.off('drain', done);
    raw.off('close', done);
  });
}
