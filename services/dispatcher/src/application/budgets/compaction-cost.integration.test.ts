import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import { requestPermit } from '../permits/request-permit.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const policy = { tools: { read_file: 'allow' as const }, budgets: { maxActions: 2 } };
const compacted = {
  firstSeq: 1,
  events: [{ at: '2026-01-01T00:00:00.000Z', event: { type: 'compaction', turn: 3, messages: 12 } }],
};
const read = (claim: AttemptClaim, callId: string) => {
  const args = { path: 'a' };
  const call = { callId, turn: 1, tool: 'read_file', arguments: args, waitMs: 0 };
  return requestPermit(
    record,
    claim,
    { ...call, argumentsDigest: argumentsDigest(args) },
    new AbortController().signal,
  );
};
const used = async ({ sessionId }: AttemptClaim): Promise<number> => {
  const [row] = await record.database.query<{ actions_used: number }>(
    'SELECT actions_used FROM sessions WHERE id = $1',
    [sessionId],
  );
  return row?.actions_used ?? -1;
};

test('on the terminal a compaction costs exactly one action, however often it is told; elsewhere none', async () => {
  for (const [surface, cost, second] of [
    ['terminal', 1, 'stop'],
    ['ide', 0, 'go'],
    ['api', 0, 'go'],
  ] as const) {
    const claim = await openTestSession(record, { surface, policy });
    // the server sends a batch again when it did not hear that it arrived, several at once too
    await Promise.all([1, 2, 3].map(() => ingestBatch(record, claim, compacted)));
    await ingestBatch(record, claim, compacted);
    assert.equal(await used(claim), cost, surface);
    assert.equal((await read(claim, 'c1')).verdict, 'go', surface);
    assert.equal((await read(claim, 'c2')).verdict, second, surface);
    const entries = (await chainEntries(record, sessionChain(claim.sessionId))).filter(
      ({ type }) => type === 'context.compacted',
    );
    assert.deepEqual(
      entries.map(({ body }) => [body['messages'], body['costsAction']]),
      [[12, cost === 1]],
      surface,
    );
  }
});

test('a compaction changes no state of a tool call', async () => {
  const claim = await openTestSession(record, { surface: 'terminal', policy });
  assert.equal((await read(claim, 'c1')).verdict, 'go');
  const before = await record.database.query('SELECT * FROM tool_calls WHERE session_id = $1', [
    claim.sessionId,
  ]);
  await ingestBatch(record, claim, compacted);
  const after = await record.database.query('SELECT * FROM tool_calls WHERE session_id = $1', [
    claim.sessionId,
  ]);
  assert.equal(before.length, 1);
  assert.deepEqual(after, before);
});
