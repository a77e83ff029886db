import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import { endSession } from '../sessions/end-session.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { closeAbandoned } from './abandoned-calls.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const at = '2026-01-01T00:00:00.000Z';

/** A session with a call that is permitted and has not ended. */
async function inCalling(
  call: string,
  tool = 'run_command',
  path: string | null = null,
): Promise<AttemptClaim> {
  const claim = await openTestSession(record);
  await record.database.query(
    `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state, answer, decided_by, path)
     VALUES ($1, $2, $3, 1, $4, 'generated', '{"verdict":"go"}', 'automation', $5)`,
    [claim.sessionId, claim.attempt, call, tool, path],
  );
  return claim;
}
const end = (claim: AttemptClaim) =>
  record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: claim.sessionId, reason: 'stopped', message: 'x' }),
  );
const typesOf = async (chain: string): Promise<string[]> =>
  (await chainEntries(record, chain)).map(({ type }) => type);

test('a call that the end of its session cuts off is closed before the chain is', async () => {
  const claim = await inCalling('c1');
  await end(claim);
  const entries = await chainEntries(record, sessionChain(claim.sessionId));
  assert.deepEqual(
    entries.slice(-3).map(({ type }) => type),
    ['tool.abandoned', 'session.ended', 'chain.closed'],
  );
  assert.deepEqual(entries.at(-3)?.body, { call: 'c1', tool: 'run_command', why: 'session_ended' });
  assert.equal(await closeAbandoned(record), 0);
});

test('the task closes what was left open, once, and behind a closed chain in the review chain', async () => {
  const live = await inCalling('c1');
  assert.equal(await closeAbandoned(record), 0, 'an attempt that lives may still tell');
  const lost = await inCalling('c2');
  await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [lost.sessionId]);
  const ended = await inCalling('c3');
  await end(ended);
  await record.database.query('UPDATE tool_calls SET abandoned_at = NULL WHERE session_id = $1', [
    ended.sessionId,
  ]);
  const closed = await Promise.all([closeAbandoned(record), closeAbandoned(record)]);
  assert.equal(closed[0] + closed[1], 2);
  assert.equal((await typesOf(sessionChain(lost.sessionId))).at(-1), 'tool.abandoned');
  const [session] = await record.database.query<{ project_id: string }>(
    'SELECT project_id FROM sessions WHERE id = $1',
    [ended.sessionId],
  );
  const review = (await chainEntries(record, reviewChain(session?.project_id ?? ''))).at(-1);
  const closing = await record.audit.head(record.database, sessionChain(ended.sessionId));
  assert.deepEqual(review?.body, {
    call: 'c3',
    tool: 'run_command',
    why: 'never_told',
    session: ended.sessionId,
    sessionChainDigest: closing?.digest,
    sessionChainClosed: true,
  });
  assert.ok(!(await typesOf(sessionChain(live.sessionId))).includes('tool.abandoned'));
});

test('files that a tool read or changed are entries of their own, and a failed call touched none', async () => {
  const told = async (tool: string, path: string | null, state: string): Promise<unknown[]> => {
    const claim = await inCalling('c1', tool, path);
    await ingestBatch(record, claim, {
      firstSeq: 1,
      events: ['calling', state].map((step) => ({
        at,
        event: { type: 'tool_call', callId: 'c1', turn: 1, tool, state: step, durationMs: 1 },
      })),
    });
    const entries = await chainEntries(record, sessionChain(claim.sessionId));
    return entries.filter(({ type }) => type.startsWith('file.')).map(({ type, body }) => [type, body]);
  };
  assert.deepEqual(await told('read_file', 'src/a.js', 'done'), [
    ['file.read', { call: 'c1', path: 'src/a.js' }],
  ]);
  assert.deepEqual(await told('edit_file', 'b.js', 'done'), [
    ['file.modified', { call: 'c1', path: 'b.js' }],
  ]);
  assert.deepEqual(await told('search_files', null, 'done'), [['file.read', { call: 'c1', path: '.' }]]);
  assert.deepEqual(await told('write_file', 'b.js', 'errored'), []);
  assert.deepEqual(await told('run_command', null, 'done'), []);
});
