import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { AnswerSink } from '../application/gateway/exchange.ts';
import { createWriteTurns } from './write-turns.ts';
import type { WriteTurns } from './write-turns.ts';

/** Makes the sinks of a listener: what its answers write shares turns where they share connections. */
export function createAnswerSinks(): (reply: FastifyReply) => AnswerSink {
  const turns = createWriteTurns();
  return (reply) => createSink(reply, turns);
}

/** The raw response: chunks go out as they came in, and a slow client holds the provider up, not the memory. */
function createSink(reply: FastifyReply, turns: WriteTurns): AnswerSink {
  const { raw } = reply;
  // An answer of HTTP/2 does not say of itself that it is destroyed.
  let gone = false;
  raw.once('close', () => {
    gone = true;
    line.close();
  });
  const line = turns.open((bytes) => void (gone || raw.write(bytes)));
  const shares = sharesConnection(raw);
  return {
    begin: (status, headers) => {
      reply.hijack();
      raw.writeHead(status, { ...headers, 'x-accel-buffering': 'no' });
      raw.flushHeaders();
    },
    write: (bytes) => {
      if (gone) return null;
      if (!shares) return raw.write(bytes) ? null : drained(raw);
      line.write(bytes);
      return raw.writableNeedDrain ? drained(raw) : null;
    },
    end: () => {
      line.flush();
      raw.end();
    },
    cut: () => cut(raw),
  };
}

const sharesConnection = (raw: ServerResponse): boolean => raw.req.httpVersionMajor === 2;

/** A stream of HTTP/2 that is destroyed without an error ends for its reader as if it were whole. */
function cut(raw: ServerResponse): void {
  raw.destroy(sharesConnection(raw) ? new Error('the answer broke off') : undefined);
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
