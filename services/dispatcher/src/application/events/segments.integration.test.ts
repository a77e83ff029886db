import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { PositionedEvent, ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createObjectStore } from '../../adapters/s3/object-store.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { endSession } from '../sessions/end-session.ts';
import { followSession } from './follow-session.ts';
import { ingestBatch } from './ingest-batch.ts';
import { logPage } from './log-page.ts';
import { createSegments } from './segments.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const output: ServerEvent = { type: 'output', callId: 'c1', stream: 'stdout', text: 'o'.repeat(50_000) };
const batch = (firstSeq: number, ...events: ServerEvent[]): unknown => ({
  firstSeq,
  events: events.map((event) => ({ at: new Date().toISOString(), event })),
});

function storeAt(port: number): ReturnType<typeof createObjectStore> {
  return createObjectStore({
    endpoint: `http://127.0.0.1:${port}`,
    bucket: 'b',
    region: 'us-east-1',
    accessKeyId: 'a',
    secretAccessKey: secret('s'),
  });
}

test('while the store is away output stays in the record and nothing waits for it twice', async () => {
  const claim = await openTestSession(record);
  const store = storeAt(9);
  let asked = 0;
  const put: typeof store.put = (...given) => {
    asked += 1;
    return store.put(...given);
  };
  const clock = { ...record.clock, monotonicMs: () => 0 };
  const objects = { ...store, put };
  const segments = createSegments({ ...record, objects, clock });
  for (let seq = 1; seq <= 11; seq += 1)
    await ingestBatch({ ...record, segments }, claim, batch(seq, output));
  assert.equal(asked, 1);
  const { events } = await logPage({ ...record, segments }, claim.sessionId, { after: 0 }, 100);
  assert.deepEqual(
    events.map(({ event }) => event),
    Array.from({ length: 11 }, () => output),
  );
  objects.close();
});

test('a store that accepts and never answers is given up in bounded time', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const objects = storeAt((silent.address() as AddressInfo).port);
  const started = performance.now();
  await assert.rejects(objects.put('projects/k', Buffer.from('x')), { code: 'storage_failed' });
  assert.ok(performance.now() - started < 30_000);
  objects.close();
  for (const socket of sockets) socket.destroy();
  silent.close();
});

test('a reader behind an output whose store is away is told of a gap and goes on', async () => {
  const claim = await openTestSession(record);
  const text: ServerEvent = { type: 'text', turn: 1, text: 'after' };
  await ingestBatch(record, claim, batch(1, output, output, text));
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: claim.sessionId, reason: 'finished', message: 'done' }),
  );
  const objects = storeAt(9);
  const seen: PositionedEvent[] = [];
  const deps = { ...record, segments: createSegments({ ...record, objects }), patienceMs: 300 };
  for await (const event of followSession(deps, claim.sessionId, 0, new AbortController().signal))
    seen.push(event);
  assert.deepEqual(
    seen.map(({ event }) => event.type),
    ['gap', 'gap', 'text', 'state'],
  );
  objects.close();
});
