import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { ingestBatch } from '../application/events/ingest-batch.ts';
import type { AttemptClaim } from '../application/events/live-attempt.ts';
import { endSession } from '../application/sessions/end-session.ts';
import { servePeople } from '../testing/traffic/apps.ts';
import type { TestApp } from '../testing/traffic/apps.ts';
import { createTestRecord } from '../testing/traffic/record.ts';
import type { TestRecord } from '../testing/traffic/record.ts';
import { openTestSession } from '../testing/traffic/session.ts';
import { registerEventStreamRoutes } from './events-routes.ts';
import { registerLogRoutes } from './log-routes.ts';
import { registerToolCallRoutes } from './tool-calls-routes.ts';

let record: TestRecord;
let app: TestApp;
/** Readers that the record's side still knows. */
const readers = new Set<object>();
before(async () => {
  record = await createTestRecord();
  const watch = {
    watch: (reader: Parameters<typeof record.watch.watch>[0]) => {
      readers.add(reader);
      const stop = record.watch.watch(reader);
      return () => {
        readers.delete(reader);
        stop();
      };
    },
    close: () => undefined,
  };
  app = await servePeople(record.newId, (registered) => {
    registerEventStreamRoutes(registered, { ...record, watch });
    registerLogRoutes(registered, record);
    registerToolCallRoutes(registered, record);
  });
});
after(async () => {
  await app.close();
  await record.close();
});

const say = (claim: AttemptClaim, seq: number, text = String(seq)) =>
  ingestBatch(record, claim, {
    firstSeq: seq,
    events: [{ at: new Date().toISOString(), event: { type: 'text', turn: 1, text } }],
  });
const endIt = async (claim: AttemptClaim): Promise<void> => {
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: claim.sessionId, reason: 'finished', message: 'done' }),
  );
  record.events.announce(claim.sessionId);
};

async function get(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const sent = request({
    host: '127.0.0.1',
    port: app.port,
    path,
    headers: { authorization: 'Bearer x', ...headers },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function* messages(response: IncomingMessage): AsyncGenerator<EventSourceMessage> {
  const parsed: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => parsed.push(message) });
  for await (const chunk of response) {
    parser.feed((chunk as Buffer).toString('utf8'));
    yield* parsed.splice(0);
  }
}

async function json(response: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
}

test('a stream has ids, events, and an end of its own; it resumes after the last id', async () => {
  const claim = await openTestSession(record);
  await say(claim, 1);
  await say(claim, 2);
  const path = `/v1/sessions/${claim.sessionId}/events`;
  const response = await get(path);
  assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
  assert.equal(response.headers['x-accel-buffering'], 'no');
  const seen: EventSourceMessage[] = [];
  for await (const message of messages(response)) {
    seen.push(message);
    if (message.id === '2') await say(claim, 3);
    if (message.id === '3') await endIt(claim);
  }
  assert.deepEqual(
    seen.map((message) => [message.event, message.id]),
    [
      ['session', '1'],
      ['session', '2'],
      ['session', '3'],
      ['session', '4'],
      ['end', undefined],
    ],
  );
  assert.equal(positionedEventSchema.parse(JSON.parse(seen[2]?.data ?? '')).position, 3);
  const resumed = await Array.fromAsync(messages(await get(`${path}?after=1`, { 'last-event-id': '3' })));
  assert.deepEqual(
    resumed.map((message) => message.id ?? message.event),
    ['4', 'end'],
  );
  assert.equal(readers.size, 0);
});

test('an unknown session and an unreadable id are problems, not streams', async () => {
  assert.equal((await json(await get('/v1/sessions/s_none/events')))['code'], 'session_unknown');
  const claim = await openTestSession(record);
  const path = `/v1/sessions/${claim.sessionId}/events`;
  assert.equal((await json(await get(path, { 'last-event-id': 'x' })))['code'], 'request_invalid');
  assert.equal((await json(await get(`${path}?after=-1`)))['code'], 'request_invalid');
});

test('readers that vanish in whatever way leave nothing behind', async () => {
  const claim = await openTestSession(record);
  await say(claim, 1);
  const open = await Promise.all(
    Array.from({ length: 5 }, () => get(`/v1/sessions/${claim.sessionId}/events`)),
  );
  for (const response of open) await once(response, 'data');
  assert.equal(readers.size, 5);
  for (const response of open) response.destroy();
  for (let seq = 2; readers.size > 0; seq += 1) await say(claim, seq);
  assert.equal(readers.size, 0);
});

test('a slow reader of a fast session gets everything once it reads, and the server holds little', async () => {
  const claim = await openTestSession(record);
  const response = await get(`/v1/sessions/${claim.sessionId}/events`);
  response.pause();
  // 24 MiB: far more than sockets and buffers between the two hold.
  for (let seq = 1; seq <= 100; seq += 1) await say(claim, seq, `${seq} ${'x'.repeat(240_000)}`);
  await endIt(claim);
  const ids: string[] = [];
  for await (const message of messages(response)) ids.push(message.id ?? message.event ?? '');
  assert.deepEqual(ids, [...Array.from({ length: 101 }, (_, index) => String(index + 1)), 'end']);
});

test('the log and the tool calls come in pages and lists', async () => {
  const claim = await openTestSession(record);
  await say(claim, 1);
  const page = await json(await get(`/v1/sessions/${claim.sessionId}/log?after=0&limit=1`));
  assert.deepEqual([page['nextAfter'], page['nextBefore']], [null, null]);
  const both = await json(await get(`/v1/sessions/${claim.sessionId}/log?after=0&before=2`));
  assert.equal(both['code'], 'request_invalid');
  assert.deepEqual(await json(await get(`/v1/sessions/${claim.sessionId}/tool-calls`)), { toolCalls: [] });
  assert.equal((await json(await get('/v1/sessions/s_none/tool-calls')))['code'], 'session_unknown');
});

/** What a hostile agent writes to break out of its event, or to break what reads it. */
const hostileTexts = [
  'one\n\nid: 999\nevent: end\ndata: {}\n\n',
  'one\r\n\r\nevent: end\r\ndata: {"forged":true}\r\n\r\n',
  'data: data: data:\n:comment\nretry: 1\n',
  'lines\u2028of\u2029other\u0085kinds\u000b\u000c',
  'NUL \u0000 and \u0001 and \u001b[2J',
  'lone \ud800 and \udfff halves, and a whole \ud83d\ude00',
  '\ufeffa mark at the start',
  '"}\n\n{"__proto__":{"polluted":true}}',
  'x'.repeat(200_000),
  '\n'.repeat(10_000),
];

test('hostile strings stay inside their event: in the live stream, resumed, and in the archive', async () => {
  // The parser is fooled by such text when nobody escapes it: what this test looks for can happen.
  const fooled: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => fooled.push(message) }).feed(
    `id: 1\nevent: session\ndata: ${hostileTexts[0]}`,
  );
  assert.deepEqual(
    fooled.map(({ event, id }) => [event, id]),
    [
      ['session', '1'],
      ['end', '999'],
    ],
  );
  const claim = await openTestSession(record);
  for (const [index, text] of hostileTexts.entries()) await say(claim, index + 1, text);
  await endIt(claim);
  const path = `/v1/sessions/${claim.sessionId}/events`;
  const seen = await Array.fromAsync(messages(await get(path)));
  assert.deepEqual(
    seen.map(({ event, id }) => [event, id]),
    [
      ...Array.from({ length: hostileTexts.length + 1 }, (_, index) => ['session', String(index + 1)]),
      ['end', undefined],
    ],
  );
  const texts = seen.slice(0, hostileTexts.length).map(({ data }) => {
    assert.ok(!/[\r\n\0]/.test(data), 'an event is one line, without a byte that ends a text elsewhere');
    const { event } = positionedEventSchema.parse(JSON.parse(data));
    return event.type === 'text' ? event.text : assert.fail(event.type);
  });
  for (const [index, text] of texts.entries()) assert.equal(text, keptOf(hostileTexts[index] ?? ''));
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  const resumed = await Array.fromAsync(messages(await get(path, { 'last-event-id': '3' })));
  assert.deepEqual(
    resumed.map(({ data }) => data),
    seen.slice(3).map(({ data }) => data),
  );
});

/** No store keeps NUL and lone halves; signs stand for them. */
const keptOf = (text: string): string => text.toWellFormed().replaceAll('\0', '\u2400');
