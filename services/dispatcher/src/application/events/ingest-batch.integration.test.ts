import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { ingestBatch } from './ingest-batch.ts';
import { logPage } from './log-page.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const at = '2026-01-01T00:00:00.000Z';
const batch = (firstSeq: number, ...events: unknown[]): unknown => ({
  firstSeq,
  events: events.map((event) => ({ at, event })),
});
const text = (words: string): ServerEvent => ({ type: 'text', turn: 1, text: words });
const running: ServerEvent = { type: 'running', driver: 'bubblewrap', warm: true, timingsMs: { boot: 4 } };
const page = async (sessionId: string) =>
  (await logPage(record, sessionId, { after: 0 }, 256)).events.map(({ event }) => event);

test('a batch becomes positions without holes, and running changes the state right behind its report', async () => {
  const claim = await openTestSession(record, { state: 'starting' });
  const answer = await ingestBatch(
    record,
    claim,
    batch(
      1,
      { type: 'phase', phase: 'preparing' },
      running,
      { type: 'phase', phase: 'working' },
      text('hello'),
    ),
  );
  assert.deepEqual(answer, { acknowledgedSeq: 4, commands: [], pause: false });
  const events = await page(claim.sessionId);
  assert.deepEqual(
    events.map((event) => event.type),
    ['phase', 'running', 'state', 'phase', 'text'],
  );
  const [row] = await record.database.query<{
    state: string;
    phase: string;
    driver: string;
    timings_ms: object;
  }>('SELECT state, phase, driver, timings_ms FROM sessions WHERE id = $1', [claim.sessionId]);
  assert.deepEqual(row, {
    state: 'running',
    phase: 'working',
    driver: 'bubblewrap',
    timings_ms: { boot: 4 },
  });
  const entries = await chainEntries(record, sessionChain(claim.sessionId));
  assert.deepEqual(
    entries.map((entry) => entry.type),
    ['session.opened', 'session.running'],
  );
});

test('what was acknowledged is skipped, also in a batch that overlaps, and a hole is refused', async () => {
  const claim = await openTestSession(record);
  await ingestBatch(record, claim, batch(1, text('a'), text('b')));
  assert.equal((await ingestBatch(record, claim, batch(1, text('a'), text('b')))).acknowledgedSeq, 2);
  assert.equal((await ingestBatch(record, claim, batch(2, text('b'), text('c')))).acknowledgedSeq, 3);
  await assert.rejects(ingestBatch(record, claim, batch(5, text('e'))), {
    code: 'conflict',
    details: { session: claim.sessionId, attempt: 1, expectedSeq: 4 },
  });
  assert.deepEqual(await page(claim.sessionId), [text('a'), text('b'), text('c')]);
});

test('the same batch sent many times at once is written once', async () => {
  const claim = await openTestSession(record);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ingestBatch(record, claim, batch(1, text('a'), text('b')))),
  );
  assert.deepEqual(new Set(answers.map((answer) => answer.acknowledgedSeq)), new Set([2]));
  assert.deepEqual(await page(claim.sessionId), [text('a'), text('b')]);
});

test('poison text is written harmless and an unreadable event becomes a notice; neither stops the journal', async () => {
  const claim = await openTestSession(record);
  const answer = await ingestBatch(
    record,
    claim,
    batch(1, text('nul \0, half \ud800'), { type: 'no such type' }, text('after')),
  );
  assert.equal(answer.acknowledgedSeq, 3);
  const [poison, unreadable, last] = await page(claim.sessionId);
  assert.deepEqual(poison, text('nul \u2400, half \ufffd'));
  assert.equal(unreadable?.type, 'notice');
  assert.deepEqual(last, text('after'));
});

test('a foreign server, a past attempt and an ended one are refused alike', async () => {
  const claim = await openTestSession(record);
  const refused = { code: 'attempt_stale' };
  await assert.rejects(ingestBatch(record, { ...claim, serverId: 'server-b' }, batch(1, text('x'))), refused);
  await assert.rejects(ingestBatch(record, { ...claim, attempt: 2 }, batch(1, text('x'))), refused);
  await assert.rejects(
    ingestBatch(record, { ...claim, sessionId: 's_unknown' }, batch(1, text('x'))),
    refused,
  );
  await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [claim.sessionId]);
  await assert.rejects(ingestBatch(record, claim, batch(1, text('x'))), refused);
  assert.deepEqual(await page(claim.sessionId), []);
});

test('tool calls move along their table, late reports move nothing back, and what ran is on the audit log', async () => {
  const claim = await openTestSession(record);
  const call = (state: string, more: object = {}): unknown => ({
    type: 'tool_call',
    callId: 'c1',
    turn: 1,
    tool: 'run_command',
    state,
    ...more,
  });
  await ingestBatch(record, claim, batch(1, call('generating'), call('generated')));
  await record.database.query(
    `UPDATE tool_calls SET answer = '{"verdict":"go"}', decided_by = 'automation' WHERE session_id = $1`,
    [claim.sessionId],
  );
  await ingestBatch(
    record,
    claim,
    batch(
      3,
      call('calling'),
      call('done', { exitCode: 3, durationMs: 12.4, outputBytes: 7 }),
      call('generated'),
    ),
  );
  const [row] = await record.database.query(
    'SELECT state, exit_code, duration_ms, ended_at IS NOT NULL AS ended FROM tool_calls WHERE session_id = $1',
    [claim.sessionId],
  );
  assert.deepEqual(row, { state: 'done', exit_code: 3, duration_ms: 12.4, ended: true });
  const entry = (await chainEntries(record, sessionChain(claim.sessionId))).at(-1);
  assert.equal(entry?.type, 'tool.executed');
  assert.deepEqual(entry.body, {
    call: 'c1',
    tool: 'run_command',
    state: 'done',
    permitted: true,
    exitCode: 3,
    durationMs: 12,
    outputBytes: 7,
    droppedBytes: null,
  });
});

test('large output lies in a segment and is shown; a segment that is gone is shown as a gap', async () => {
  const claim = await openTestSession(record);
  const output: ServerEvent = { type: 'output', callId: 'c1', stream: 'stdout', text: 'x'.repeat(20_000) };
  const small: ServerEvent = { ...output, text: 'y' };
  await ingestBatch(record, claim, batch(1, output, small));
  const rows = await record.database.query<{ event: unknown; segment_key: string | null }>(
    'SELECT event, segment_key FROM session_events WHERE session_id = $1 ORDER BY position',
    [claim.sessionId],
  );
  assert.equal(rows[0]?.event, null);
  assert.match(rows[0]?.segment_key ?? '', /^projects\/local\/objects\/[0-9a-f]{64}$/);
  assert.equal(rows[1]?.segment_key, null);
  assert.deepEqual(await page(claim.sessionId), [output, small]);
  await record.database.query(
    `UPDATE session_events SET segment_key = 'projects/local/objects/gone' WHERE session_id = $1 AND position = 1`,
    [claim.sessionId],
  );
  const [gone] = await page(claim.sessionId);
  assert.deepEqual(gone, { type: 'gap', from: 1, to: 1, reason: 'the object that held this output is gone' });
});

test('a stop on record is told with the answer', async () => {
  const claim = await openTestSession(record);
  await record.database.query(`UPDATE sessions SET stop_reason = 'time_budget' WHERE id = $1`, [
    claim.sessionId,
  ]);
  const answer = await ingestBatch(record, claim, batch(1, text('a')));
  assert.deepEqual(answer.commands, [
    { sessionId: claim.sessionId, attempt: 1, kind: 'stop', reason: 'time_budget' },
  ]);
});

test('pages go both ways and name their ends', async () => {
  const claim = await openTestSession(record);
  await ingestBatch(
    record,
    claim,
    batch(1, ...Array.from({ length: 10 }, (_, index) => text(String(index + 1)))),
  );
  const forward = await logPage(record, claim.sessionId, { after: 3 }, 4);
  assert.deepEqual(
    forward.events.map((event) => event.position),
    [4, 5, 6, 7],
  );
  assert.equal(forward.nextAfter, 7);
  const last = await logPage(record, claim.sessionId, { after: 7 }, 4);
  assert.deepEqual([last.events.map((event) => event.position), last.nextAfter], [[8, 9, 10], null]);
  const backward = await logPage(record, claim.sessionId, { before: 4 }, 2);
  assert.deepEqual([backward.events.map((event) => event.position), backward.nextBefore], [[2, 3], 2]);
  await record.database.query(
    'DELETE FROM session_events WHERE session_id = $1 AND position BETWEEN 2 AND 5',
    [claim.sessionId],
  );
  const holed = await logPage(record, claim.sessionId, { after: 0 }, 3);
  assert.deepEqual(holed.events[1]?.event, {
    type: 'gap',
    from: 2,
    to: 5,
    reason: 'these events are no longer kept',
  });
  await assert.rejects(logPage(record, 's_unknown', { after: 0 }, 3), { code: 'session_unknown' });
});

test('a number that no audit entry may hold becomes a notice and does not stop the journal', async () => {
  const claim = await openTestSession(record);
  const ended = { type: 'tool_call', callId: 'c', turn: 1, tool: 'run_command', state: 'done' };
  const answer = await ingestBatch(record, claim, batch(1, { ...ended, durationMs: 1e308 }, text('on')));
  assert.equal(answer.acknowledgedSeq, 2);
  assert.deepEqual(
    (await page(claim.sessionId)).map((event) => event.type),
    ['notice', 'text'],
  );
});

test('a page before the beginning says where to go on', async () => {
  const claim = await openTestSession(record);
  await ingestBatch(record, claim, batch(1, text('first')));
  const before = await logPage(record, claim.sessionId, { before: 0 }, 10);
  assert.deepEqual(before, { events: [], nextAfter: 0, nextBefore: null });
});

test('a secret in output, text, title or message is shown and stored as its kind, and in the audit log too', async () => {
  const claim = await openTestSession(record);
  // put together here, so that no scanner of repositories takes it for a real one
  const key = ['AKIA', 'ABCDEFGH234567QR'].join('');
  const more = { durationMs: 1, title: `use ${key}`, message: `refused ${key}` };
  await ingestBatch(
    record,
    claim,
    batch(
      1,
      text(`the key is ${key}`),
      { type: 'output', callId: 'c1', stream: 'stdout', text: `${key}\n` },
      { type: 'tool_call', callId: 'c1', turn: 1, tool: 'read_file', state: 'done', ...more },
    ),
  );
  const shown = JSON.stringify(await page(claim.sessionId));
  assert.ok(shown.includes('[secret:') && !shown.includes(key), shown);
  await record.database.transaction((tx) =>
    record.audit.append(tx, sessionChain(claim.sessionId), [
      {
        type: 'file.read',
        subject: 'spiffe://lemniscate/x/y',
        body: { call: 'c1', path: `keys/${key}.txt` },
      },
    ]),
  );
  const rows = await record.database.query<{ body: Buffer }>(
    'SELECT body FROM audit_entries WHERE chain = $1',
    [sessionChain(claim.sessionId)],
  );
  assert.doesNotMatch(rows.map(({ body }) => body.toString()).join(''), new RegExp(key));
});
