import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { RequestOptions } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

/** Where streams are asked for. */
export interface StreamTarget {
  readonly url: URL;
  readonly tls: Pick<RequestOptions, 'ca' | 'cert' | 'key'>;
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

/** Opens so many streams, spread over a second, and reads them to their ends. */
export async function runStreams(count: number, target: StreamTarget): Promise<StreamRun> {
  const latenciesMs: number[] = [];
  let failed = 0;
  const read = async (stream: number): Promise<void> => {
    await delay((stream / count) * 1_000);
    try {
      await readStream(target, stream, latenciesMs);
    } catch {
      // Counted and told: a run with failures is no measurement.
      failed += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, (_, stream) => read(stream)));
  return { latenciesMs, chunks: latenciesMs.length, failed };
}

async function readStream(target: StreamTarget, stream: number, latenciesMs: number[]): Promise<void> {
  const send = target.url.protocol === 'https:' ? tlsRequest : plainRequest;
  const sent = send(target.url, {
    method: 'POST',
    agent: false,
    timeout: 60_000,
    headers: { 'content-type': 'application/json', 'x-api-key': target.tokenOf(stream) },
    ...target.tls,
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) {
    response.resume();
    throw new Error(`status ${response.statusCode}`);
  }
  for await (const chunk of response) {
    const now = performance.timeOrigin + performance.now();
    for (const [, at] of String(chunk).matchAll(/"at":([\d.]+)/g)) latenciesMs.push(now - Number(at));
  }
}
