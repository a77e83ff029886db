import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import { accessTable } from './http/access-table.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

const perRoute = 200;
const routes = Object.keys(accessTable);
/** These answer without an end: that the head came is enough. */
const isStream = (route: string): boolean => route.startsWith('GET ') && route.endsWith('/events');

/** Repeatable randomness. */
function randomness(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
/** Bodies that no route takes, each as text or bytes. */
const bodies: readonly ((pick: (below: number) => number) => string | Buffer)[] = [
  () => '{',
  () => '',
  () => 'null',
  () => '[]',
  () => '"text"',
  () => '17',
  (pick) => `{"${'k'.repeat(1 + pick(1_000_000))}":1}`,
  () => nested(20_000),
  (pick) => `{"project":${nested(1 + pick(200))}}`,
  () => '{"__proto__":{"admin":true}}',
  () => '{"constructor":{"prototype":{"admin":true}}}',
  () => '{"instruction":"a\\u0000b","id":"a\\u0000b"}',
  () => '{"instruction":"\\ud800","id":"\\udfff","name":"\\ud83d"}',
  () => Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  (pick) => `{"project":${pick(2) === 0 ? '1e999' : '-0'},"limit":1e400}`,
  (pick) => JSON.stringify({ [`x${pick(1_000)}`]: pick(2) === 0 ? null : { a: [pick(9)] } }),
  () => '{"id":"a","id":"b","unknown":true}',
  () => `{"policy":"${'&a '.repeat(1_000)}","unknown":1}`,
];
const words: readonly string[] = [
  '%00',
  '%zz',
  '%ff%fe',
  '..%2f..%2fetc',
  "'%20OR%201=1--",
  'a'.repeat(300),
  '%F0%9F%92%A9',
  '-1',
  '1e309',
  '9'.repeat(40),
  'NaN',
  '%ED%A0%80',
  '__proto__',
  '%0d%0aX:%201',
];

describe('malformed requests', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let session = '';
  const agent = new Agent({ connections: 8, keepAliveTimeout: 5_000 });
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher({
      // More routes times 200 than one login may ask in a minute.
      LEMNISCATE_REQUESTS_PER_MINUTE: '10000000',
    });
    const opened = await dispatcher.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest);
    session = opened.body.id;
  });
  after(async () => {
    await agent.destroy();
    await fleet.remove();
  });

  test(`${perRoute} of them for each of ${routes.length} routes: never a fault of ours, and broken bodies are told so`, async () => {
    const wrong: string[] = [];
    const ask = async (route: string, seed: number): Promise<void> => {
      const pick = randomness(seed);
      const [method = '', pattern = ''] = route.split(' ');
      const word = () => words[pick(words.length)] ?? '';
      const broken = pick(2) === 0;
      const path = pattern.replaceAll(/:(\w+)/g, () =>
        broken ? word() : pattern.includes('sessions') ? session : 'local',
      );
      const query =
        pick(3) === 0 ? '' : `?${word()}=${word()}&limit=${word()}&after=${word()}&project=${word()}`;
      const sendsBody = method !== 'GET' && method !== 'DELETE';
      const body = bodies[pick(bodies.length)]?.(pick) ?? '';
      const answer = await request(`http://127.0.0.1:${dispatcher.publicPort}${path}${query}`, {
        method: method as 'GET',
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${fleet.token}`,
          ...(pick(4) === 0 ? { 'if-match': `"${word()}"`, 'idempotency-key': 'x'.repeat(pick(600)) } : {}),
          ...(sendsBody ? { 'content-type': pick(8) === 0 ? 'text/plain' : 'application/json' } : {}),
        },
        ...(sendsBody ? { body } : {}),
      });
      if (isStream(route) && answer.statusCode < 400) {
        answer.body.on('error', () => undefined).destroy();
        return;
      }
      const text = await answer.body.text();
      if (answer.statusCode >= 500)
        wrong.push(`${route} (${seed}): ${answer.statusCode} ${text.slice(0, 200)}`);
      if (answer.statusCode < 400) return;
      const problem = text.startsWith('{') ? (JSON.parse(text) as { code?: string; detail?: string }) : {};
      if (problem.code === undefined || (problem.detail ?? '').length < 10)
        wrong.push(
          `${route} (${seed}): ${answer.statusCode} without a useful message: ${text.slice(0, 200)}`,
        );
    };
    for (const [place, route] of routes.entries())
      for (let from = 0; from < perRoute; from += 8)
        await Promise.all(
          Array.from({ length: 8 }, (_, index) => ask(route, place * 10_000 + from + index + 1)),
        );
    assert.deepEqual(wrong.slice(0, 20), []);
    assert.equal((await dispatcher.call('GET', '/v1/me')).status, 200);
  });

  /** Speaks on a bare connection and collects what comes until it is closed. */
  const speak = (write: (send: (text: string) => boolean) => Promise<void> | void): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(dispatcher.publicPort, '127.0.0.1');
      let heard = '';
      socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
      socket.on('data', (piece: Buffer) => (heard += piece.toString('latin1')));
      socket.on('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EPIPE' || error.code === 'ECONNRESET' ? resolve(heard) : reject(error),
      );
      socket.on('close', () => resolve(heard));
      socket.on('connect', () => void write((text) => !socket.destroyed && socket.write(text)));
    });

  test('headers over 16 KiB and what is no HTTP are answered with a problem document', async () => {
    const large = await speak((send) => {
      send(`GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`);
    });
    assert.match(large, /^HTTP\/1\.1 431 [^]*application\/problem\+json[^]*"code":"headers_too_large"/);
    const none = await speak((send) => {
      send('\u0016\u0003\u0001 hello\r\n\r\n');
    });
    assert.match(none, /^HTTP\/1\.1 400 [^]*"code":"request_invalid"/);
  });

  test('a body over the limit is cut early: announced, or as it comes', async () => {
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fleet.token}\r\nContent-Type: application/json\r\n`;
    const announced = await speak((send) => {
      send(`${head}Content-Length: 5000000000\r\n\r\n{`);
    });
    assert.match(announced, /^HTTP\/1\.1 413 [^]*"code":"payload_too_large"/);
    let sent = 0;
    const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const chunked = await speak(async (send) => {
      send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      for (let turn = 0; turn < 2_000 && send(piece); turn += 1) {
        sent += 65_536;
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    // Whoever still writes may find the connection gone before the answer is read.
    assert.match(chunked, /^(HTTP\/1\.1 413 |$)/);
    assert.ok(sent < 20 * 1024 * 1024, `${sent} bytes were taken`);
  });

  test('every answer says how often one may ask; too often is refused with a time', async () => {
    const limited = await fleet.startDispatcher({ LEMNISCATE_REQUESTS_PER_MINUTE: '10' });
    const ask = () =>
      fetch(`http://127.0.0.1:${limited.publicPort}/v1/me`, {
        headers: { authorization: `Bearer ${fleet.token}` },
      });
    const first = await ask();
    assert.equal(first.headers.get('ratelimit-limit'), '10');
    assert.equal(first.headers.get('ratelimit-remaining'), '9');
    for (let turn = 0; turn < 9; turn += 1) assert.equal((await ask()).status, 200);
    const refused = await ask();
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(((await refused.json()) as { code: string }).code, 'rate_limited');
  });

  test('the description of the API names every route, with what it answers', async () => {
    const { body } = await dispatcher.call<{
      openapi: string;
      paths: Record<string, Record<string, { responses?: Record<string, { content?: unknown }> }>>;
    }>('GET', '/openapi.json');
    assert.equal(body.openapi, '3.1.0');
    const undescribed = Object.keys(accessTable).filter((route) => {
      const [method = '', pattern = ''] = route.split(' ');
      return body.paths[pattern.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] === undefined;
    });
    // the description itself, and the console's files: pages for people, not answers for programs
    const pages = ['GET /', 'GET /console', 'GET /console/*', 'GET /console/assets/:file'];
    assert.deepEqual(
      undescribed.filter((route) => !pages.includes(route)),
      ['GET /openapi.json'],
    );
  });
});
