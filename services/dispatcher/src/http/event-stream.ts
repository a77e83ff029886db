import type { ServerResponse } from 'node:http';

/** One message of a stream; `id` is what a reader sends back as `Last-Event-ID`. */
export interface StreamMessage {
  readonly id?: number;
  readonly event: string;
  readonly data: unknown;
}

export interface EventStreamOptions {
  /** A comment is sent this often, so that proxies and readers see that the stream lives. */
  readonly heartbeatMs: number;
  /** A reader that takes nothing for so long is cut; it comes back with `Last-Event-ID`. */
  readonly stallMs: number;
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // A buffering proxy would hold live events back.
  'x-accel-buffering': 'no',
} as const;

/**
 * Writes events as server-sent events, no faster than the reader takes them. Ends with `event: end` when the source
 * has ended by itself; a stream without it was cut and is to be resumed. Cleans up on every kind of end.
 * @param gone ends the source; aborted here when the connection closes
 */
export async function writeEventStream(
  raw: ServerResponse,
  events: AsyncIterable<StreamMessage>,
  gone: AbortController,
  options: EventStreamOptions,
): Promise<void> {
  const close = (): void => gone.abort();
  raw.on('close', close);
  raw.on('error', close);
  raw.writeHead(200, headers);
  raw.write(': open\n\n');
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, options.heartbeatMs);
  try {
    for await (const event of events) {
      if (gone.signal.aborted) return;
      if (!raw.write(format(event))) await drained(raw, gone.signal, options.stallMs);
    }
    if (!gone.signal.aborted) raw.end('event: end\ndata: {}\n\n');
  } finally {
    clearInterval(heartbeat);
    gone.abort();
    raw.off('close', close);
    if (!raw.writableEnded) raw.destroy();
  }
}

function format({ id, event, data }: StreamMessage): string {
  // JSON has no raw line break, so one data line is enough.
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Waits until the reader has taken what was written, has gone, or has taken too long. */
function drained(raw: ServerResponse, gone: AbortSignal, ms: number): Promise<void> {
  if (gone.aborted || raw.destroyed) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    raw.destroy();
    resolve();
  }, ms);
  const done = (): void => resolve();
  raw.on('drain', done);
  gone.addEventListener('abort', done);
  return promise.finally(() => {
    clearTimeout(timer);
    raw.off('drain', done);
    gone.removeEventListener('abort', done);
  });
}
