import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from 'pg';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { PositionedEvent, ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createEventLog } from '../../adapters/postgres/event-log.ts';
import { createRedisLiveEvents } from '../../adapters/redis/live-events.ts';
import { startOwnRedis } from '../../testing/own-redis.ts';
import { testVariable } from '../../testing/test-variable.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { endSession } from '../sessions/end-session.ts';
import { followSession } from './follow-session.ts';
import { ingestBatch } from './ingest-batch.ts';
import { readEvents } from './read-events.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const text = (words: string): ServerEvent => ({ type: 'text', turn: 1, text: words });
const batch = (firstSeq: number, ...events: ServerEvent[]): unknown => ({
  firstSeq,
  events: events.map((event) => ({ at: new Date().toISOString(), event })),
});
const endIt = async (sessionId: string): Promise<void> => {
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId, reason: 'finished', message: 'done' }),
  );
  record.events.announce(sessionId);
};
const never = new AbortController().signal;

async function collect(reader: AsyncIterable<PositionedEvent>): Promise<PositionedEvent[]> {
  const events: PositionedEvent[] = [];
  for await (const event of reader) events.push(event);
  return events;
}

function assertWhole(events: readonly PositionedEvent[], from: number, to: number): void {
  assert.deepEqual(
    events.map((event) => event.position),
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
  );
}

test('history, then live, then the end; a reader of an ended session gets everything and its end', async () => {
  const claim = await openTestSession(record);
  await ingestBatch(record, claim, batch(1, text('1'), text('2')));
  const reader = collect(followSession(record, claim.sessionId, 1, never));
  await ingestBatch(record, claim, batch(3, text('3')));
  await endIt(claim.sessionId);
  const events = await reader;
  assertWhole(events, 2, 4);
  assert.equal(events.at(-1)?.event.type, 'state');
  assertWhole(await collect(followSession(record, claim.sessionId, 0, never)), 1, 4);
  assert.deepEqual(await collect(followSession(record, claim.sessionId, 4, never)), []);
  await assert.rejects(collect(followSession(record, 's_unknown', 0, never)), { code: 'session_unknown' });
});

test('deleted positions are one explicit gap, at the front, in the middle and at the end', async () => {
  const claim = await openTestSession(record);
  await ingestBatch(record, claim, batch(1, ...Array.from({ length: 9 }, (_, index) => text(String(index)))));
  await endIt(claim.sessionId);
  await record.database.query(
    'DELETE FROM session_events WHERE session_id = $1 AND position IN (1, 2, 5, 9, 10)',
    [claim.sessionId],
  );
  const events = await collect(followSession(record, claim.sessionId, 0, never));
  const gaps = events.flatMap(({ event }) => (event.type === 'gap' ? [[event.from, event.to]] : []));
  assert.deepEqual(gaps, [
    [1, 2],
    [5, 5],
    [9, 10],
  ]);
});

test('a reader that goes away leaves nothing behind', async () => {
  const claim = await openTestSession(record);
  let stopped = 0;
  const deps = {
    ...record,
    live: {
      ...record.live,
      subscribe: (...args: Parameters<typeof record.live.subscribe>) => {
        const stop = record.live.subscribe(...args);
        return () => {
          stopped += 1;
          stop();
        };
      },
    },
  };
  const gone = new AbortController();
  const reader = collect(followSession(deps, claim.sessionId, 0, gone.signal));
  gone.abort();
  assert.deepEqual(await reader, []);
  assert.equal(stopped, 1);
  await ingestBatch(record, claim, batch(1, text('x')));
  for await (const event of followSession(deps, claim.sessionId, 0, never)) {
    assert.equal(event.position, 1);
    break;
  }
  assert.equal(stopped, 2);
});

test('a slow reader holds a bounded part and is served from the record', async () => {
  const claim = await openTestSession(record);
  const reader = followSession(record, claim.sessionId, 0, never);
  await ingestBatch(record, claim, batch(1, text('first')));
  const events = [(await reader.next()).value as PositionedEvent];
  // 24 MiB while nobody reads.
  const large = text('x'.repeat(200_000));
  const before = heapAfterGc();
  for (let seq = 2; seq < 122; seq += 10)
    await ingestBatch(record, claim, batch(seq, ...Array.from({ length: 10 }, () => large)));
  const held = heapAfterGc() - before;
  assert.ok(held < 10 * 1024 * 1024, `held ${held} bytes for one slow reader`);
  await endIt(claim.sessionId);
  for await (const event of reader) events.push({ ...event, event: text('') });
  assertWhole(events, 1, 122);
});

test('a page of events holds what its bounds allow, in either direction, and a larger event alone', async () => {
  const { sessionId } = await openTestSession(record);
  const claim = { sessionId, attempt: 1, serverId: 'server-a' };
  const sizes = [10, 10, 5_000, 10, 2_000, 2_000, 10];
  await ingestBatch(record, claim, batch(1, ...sizes.map((size) => text('x'.repeat(size)))));
  const page = async (from: { after: number } | { before: number }, rows: number, bytes: number) => {
    const { events, last } = await readEvents(record.database, sessionId, from, { rows, bytes });
    assert.equal(last, sizes.length);
    return events.map(({ position }) => position);
  };
  assert.deepEqual(await page({ after: 0 }, 256, 1_000_000), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(await page({ after: 0 }, 3, 1_000_000), [1, 2, 3]);
  assert.deepEqual(await page({ after: 0 }, 256, 3_000), [1, 2]);
  assert.deepEqual(await page({ after: 2 }, 256, 3_000), [3]);
  assert.deepEqual(await page({ after: 3 }, 256, 3_000), [4, 5]);
  assert.deepEqual(await page({ before: 8 }, 256, 3_000), [6, 7]);
  assert.deepEqual(await page({ before: 4 }, 256, 3_000), [3]);
  assert.deepEqual(await page({ before: 8 }, 2, 1_000_000), [6, 7]);
  assert.deepEqual(await page({ after: 7 }, 256, 3_000), []);
});

function heapAfterGc(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

test('a Postgres that drops its connections costs a reader nothing', async () => {
  const claim = await openTestSession(record);
  const seen: PositionedEvent[] = [];
  const reader = (async () => {
    for await (const event of followSession(record, claim.sessionId, 0, never)) seen.push(event);
  })();
  for (let position = 1; position <= 12; position += 1) {
    await persistently(() => ingestBatch(record, claim, batch(position, text(String(position)))));
    if (position % 4 === 0) await dropConnections();
  }
  await persistently(() => endIt(claim.sessionId));
  await reader;
  assertWhole(seen, 1, 13);
});

/** As an agent server does: the same again until it is accepted. */
async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 10 || !isCodedError(error, 'service_unreachable')) throw error;
    }
  }
}

async function dropConnections(): Promise<void> {
  const admin = new Client({ connectionString: testVariable('LEMNISCATE_TEST_DATABASE_URL') });
  await admin.connect();
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    record.url.pathname.slice(1),
  ]);
  await admin.end();
}

test('over a Redis that is flushed, killed and started again a reader in another process misses nothing', async () => {
  const redis = await startOwnRedis();
  const { url } = redis;
  const readerSide = createRedisLiveEvents({ url, log: record.log });
  const writerSide = createRedisLiveEvents({ url, log: record.log });
  const events = createEventLog({ clock: record.clock, live: writerSide });
  const writer = { ...record, live: writerSide, events };
  try {
    const claim = await openTestSession(record);
    const seen: PositionedEvent[] = [];
    const waiting = new Map<number, () => void>();
    const reader = (async () => {
      for await (const event of followSession({ ...record, live: readerSide }, claim.sessionId, 0, never)) {
        seen.push(event);
        waiting.get(event.position)?.();
      }
    })();
    const say = async (position: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(position, resolve);
      await ingestBatch(writer, claim, batch(position, text(String(position))));
      await promise;
    };
    for (let position = 1; position <= 20; position += 1) await say(position);
    await redis.flushAll();
    for (let position = 21; position <= 40; position += 1) await say(position);
    await redis.stop();
    for (let position = 41; position <= 43; position += 1) await say(position);
    await redis.start();
    for (let position = 44; position <= 60; position += 1) await say(position);
    await endIt(claim.sessionId);
    await reader;
    assertWhole(seen, 1, 61);
  } finally {
    readerSide.close();
    writerSide.close();
    await redis.remove();
  }
});
