import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { ingestBatch } from './ingest-batch.ts';
import { searchLog } from './search-log.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const batch = (firstSeq: number, events: readonly ServerEvent[]): unknown => ({
  firstSeq,
  events: events.map((event) => ({ at: new Date().toISOString(), event })),
});
const textOf = (text: string): ServerEvent => ({ type: 'text', turn: 1, text });
const outputOf = (text: string): ServerEvent => ({ type: 'output', callId: 'c', stream: 'stdout', text });

test('a session’s log is searched as it is kept, output included, in any case and in pages', async () => {
  const claim = await openTestSession(record);
  const other = await openTestSession(record);
  const events: ServerEvent[] = Array.from({ length: 600 }, (_, index) => textOf(`line ${index}`));
  events[10] = textOf('The Heron is here');
  events[300] = outputOf(`${'.'.repeat(20_000)} heron in the output`);
  events[599] = textOf('HERON, at the end');
  for (let from = 0; from < events.length; from += 100)
    await ingestBatch(record, claim, batch(from + 1, events.slice(from, from + 100)));
  await ingestBatch(record, other, batch(1, [textOf('a heron of another session')]));

  const search = (text: string, from = 0, limit = 100) =>
    searchLog(record, claim.sessionId, { text, after: from, limit });
  const found = await search('heron');
  assert.deepEqual(
    found.events.map(({ event }) => event.type),
    ['text', 'output', 'text'],
  );
  assert.equal(found.nextAfter, null);
  const [first] = (await search('heron', 0, 1)).events;
  assert.ok(first);
  const rest = await search('heron', first.position);
  assert.deepEqual(
    rest.events.map(({ position }) => position),
    found.events.slice(1).map(({ position }) => position),
  );
  assert.deepEqual((await search('egret')).events, []);
  assert.deepEqual((await search('%heron%')).events, [], 'it is a text, not a pattern');
  await assert.rejects(searchLog(record, 's_none', { text: 'x', after: 0, limit: 1 }), {
    code: 'session_unknown',
  });
});
