import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { Readable } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { readLines } from '@lemniscate/shared/text/lines.ts';

/** Where streams are asked for. */
export interface StreamTarget {
  readonly url: URL;
  /** With these HTTP/2 is spoken, as an agent server does. */
  readonly tls: SecureContextOptions | null;
  /** The relay token of each stream. */
  tokenOf(stream: number): string;
}

/** What came back of many streams at once. */
export interface StreamRun {
  /** Milliseconds from a chunk's writing to its reading, all streams together. */
  readonly latenciesMs: readonly number[];
  readonly chunks: number;
  readonly failed: number;
}

const body = JSON.stringify({
  model: 'claude-sonnet-4-6',
  max_tokens: 1_000,
  stream: true,
  messages: [{ role: 'user', content: 'Say something long.' }],
});

/** Opens so many streams, spread over a time, and reads them to their ends. */
export async function runStreams(
  count: number,
  target: StreamTarget,
  spreadMs = 4_000,
  /** Told at each change how many are open, and how many chunks have been read of all. */
  openNow: (open: number, chunks: number) => void = () => undefined,
): Promise<StreamRun> {
  const latenciesMs: number[] = [];
  let failed = 0;
  let open = 0;
  const change = (by: 1 | -1): void => {
    open += by;
    openNow(open, latenciesMs.length);
  };
  const connections = target.tls === null ? [] : await openConnections(count, target.url, target.tls);
  const read = async (stream: number): Promise<void> => {
    await delay((stream / count) * spreadMs);
    try {
      const connection = connections[stream % connections.length];
      const headers = { 'content-type': 'application/json', 'x-api-key': target.tokenOf(stream) };
      const answer =
        connection === undefined
          ? await askPlainly(target.url, headers)
          : await askOver(connection, target.url, headers);
      change(1);
      await readChunks(answer, latenciesMs).finally(() => change(-1));
    } catch {
      // Counted and told: a run with failures is no measurement.
      failed += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, (_, stream) => read(stream)));
  for (const connection of connections) connection.destroy();
  return { latenciesMs, chunks: latenciesMs.length, failed };
}

/** Streams that an agent server lets share a connection. */
const streamsEach = 250;
/** What undici, which agent servers ask with, lets a peer send ahead. Bytes. */
const streamWindow = 256 * 1024;
const connectionWindow = 512 * 1024;

async function openConnections(
  count: number,
  url: URL,
  tls: SecureContextOptions,
): Promise<ClientHttp2Session[]> {
  const connections = Array.from({ length: Math.ceil(count / streamsEach) }, () =>
    connect(url.origin, { ...tls, settings: { initialWindowSize: streamWindow } }),
  );
  await Promise.all(connections.map((connection) => once(connection, 'connect')));
  for (const connection of connections) connection.setLocalWindowSize(connectionWindow);
  return connections;
}

async function askOver(
  connection: ClientHttp2Session,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Readable> {
  const stream = connection.request({ ...headers, ':method': 'POST', ':path': url.pathname });
  stream.setTimeout(longestSilenceMs, () => stream.close());
  stream.end(body);
  const [answer] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  if (answer[':status'] !== 200) throw new Error(`status ${answer[':status']}`);
  return stream;
}

async function askPlainly(url: URL, headers: Readonly<Record<string, string>>): Promise<Readable> {
  const sent = plainRequest(url, { method: 'POST', agent: false, timeout: longestSilenceMs, headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [Readable & { readonly statusCode?: number }];
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return response;
}

const longestSilenceMs = 60_000;

/** A line of the scripted upstream is shorter by far. UTF-16 units. */
const longestLine = 64 * 1024;

/** Events are counted whole: a frame may end within one. */
async function readChunks(answer: Readable, latenciesMs: number[]): Promise<void> {
  for await (const { text } of readLines(answer, longestLine)) {
    if (text === undefined) throw new Error(`a line is longer than ${longestLine}`);
    const at = /"at":([\d.]+)/.exec(text)?.[1];
    if (at !== undefined) latenciesMs.push(performance.timeOrigin + performance.now() - Number(at));
  }
}
