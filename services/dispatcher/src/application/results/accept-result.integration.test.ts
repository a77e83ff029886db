import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { logPage } from '../events/log-page.ts';
import type { Person } from '../identity.ts';
import { objectKey } from '../ports/object-store.ts';
import { decideDiff } from '../review/decide-diff.ts';
import { openDiff, readWhole } from '../review/read-patch.ts';
import { announceUpload } from '../uploads/announce-upload.ts';
import { completeUpload } from '../uploads/complete-upload.ts';
import { attemptOwner, incomingKey } from '../uploads/upload-row.ts';
import { acceptResult } from './accept-result.ts';
import type { ResultDeps } from './accept-result.ts';

let record: TestRecord;
let deps: ResultDeps;
before(async () => {
  record = await createTestRecord();
  deps = { ...record, settleUsage: () => Promise.resolve() };
});
after(() => record.close());

const ada: Person = { subject: 'ada', name: 'Ada', kind: 'human', roles: ['approver'] };
const patch = Buffer.from('--- a/package.json\n+++ b/package.json\n@@ -1 +1 @@\n-1\n+2\n');
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const resultOf = (bytes: Buffer = patch, more: Partial<SessionResult> = {}): SessionResult => ({
  reason: 'finished',
  message: 'mended',
  diff: {
    sha256: digestOf(bytes),
    bytes: bytes.byteLength,
    baseCommit: 'a'.repeat(40),
    baseTree: 'b'.repeat(40),
    // The server claims that nothing is flagged.
    files: [{ path: 'package.json', change: 'modified', insertions: 1, deletions: 1, flags: [] }],
    insertions: 1,
    deletions: 1,
  },
  patch: { kind: 'inline', base64: bytes.toString('base64') },
  timingsMs: { diff: 12 },
  ...more,
});
const stateOf = async (sessionId: string) => {
  const [row] = await record.database.query<{ state: string; reason: string; timings_ms: object }>(
    'SELECT state, reason, timings_ms FROM sessions WHERE id = $1',
    [sessionId],
  );
  return row;
};

test('what the policy of the session names is marked, whatever the server says', async () => {
  const claim = await openTestSession(record, { policy: { flaggedPaths: ['deploy/**'] } });
  const result = resultOf();
  assert.ok(result.diff !== null);
  const [file] = result.diff.files;
  assert.ok(file !== undefined);
  const files = [
    { ...file, path: 'deploy/prod.yaml' },
    { ...file, path: 'src/a.ts' },
  ];
  await acceptResult(deps, claim, { ...result, diff: { ...result.diff, files } });
  const { diff } = await openDiff(record, claim.sessionId);
  assert.deepEqual(
    diff.summary.files.map(({ flags }) => flags),
    [['policy'], []],
  );
});

test('a result ends the session, offers its diff with flags of our own, and closes the chain', async () => {
  const claim = await openTestSession(record);
  await acceptResult(deps, claim, resultOf());
  assert.deepEqual(await stateOf(claim.sessionId), {
    state: 'completed',
    reason: 'finished',
    timings_ms: { diff: 12 },
  });
  const opened = await openDiff(record, claim.sessionId);
  assert.deepEqual(opened.diff.summary.files[0]?.flags, ['dependencies']);
  assert.deepEqual(await readWhole(opened, 1_000_000), patch);
  const { events } = await logPage(record, claim.sessionId, { after: 0 }, 100);
  assert.deepEqual(
    events.map(({ event }) => event.type),
    ['diff', 'state'],
  );
  const entries = await chainEntries(record, sessionChain(claim.sessionId));
  assert.deepEqual(
    entries.map((entry) => entry.type),
    ['session.opened', 'diff.offered', 'session.ended', 'chain.closed'],
  );
});

test('results at the same moment: one is taken, the same ones get the same answer, another is refused', async () => {
  const claim = await openTestSession(record);
  const results = await Promise.allSettled([
    acceptResult(deps, claim, resultOf()),
    acceptResult(deps, claim, resultOf()),
    acceptResult(deps, claim, resultOf()),
  ]);
  for (const result of results) assert.equal(result.status, 'fulfilled');
  assert.deepEqual(await acceptResult(deps, claim, resultOf()), { accepted: true });
  await assert.rejects(acceptResult(deps, claim, resultOf(patch, { message: 'other' })), {
    code: 'conflict',
  });
  const racing = await openTestSession(record);
  const different = await Promise.allSettled([
    acceptResult(deps, racing, resultOf(patch, { message: 'one' })),
    acceptResult(deps, racing, resultOf(patch, { message: 'two' })),
  ]);
  assert.deepEqual(different.map((result) => result.status).sort(), ['fulfilled', 'rejected']);
  const entries = await chainEntries(record, sessionChain(racing.sessionId));
  assert.equal(entries.filter((entry) => entry.type === 'session.ended').length, 1);
});

test('wrong bytes, foreign attempts and reasons that are not a server’s change nothing', async () => {
  const claim = await openTestSession(record);
  const wrong = resultOf(patch, {
    patch: { kind: 'inline', base64: Buffer.from('evil').toString('base64') },
  });
  await assert.rejects(acceptResult(deps, claim, wrong), { code: 'digest_mismatch' });
  await assert.rejects(acceptResult(deps, claim, resultOf(patch, { patch: null })), {
    code: 'request_invalid',
  });
  await assert.rejects(acceptResult(deps, claim, resultOf(patch, { reason: 'revoked' })), {
    code: 'request_invalid',
  });
  await assert.rejects(acceptResult(deps, { ...claim, serverId: 'server-b' }, resultOf()), {
    code: 'attempt_stale',
  });
  assert.equal((await stateOf(claim.sessionId))?.state, 'running');
});

test('a budget that is reached offers what there is; a broken start offers nothing', async () => {
  const timeout = await openTestSession(record);
  await acceptResult(deps, timeout, resultOf(patch, { reason: 'time_budget' }));
  assert.equal((await stateOf(timeout.sessionId))?.state, 'timeout');
  assert.equal((await openDiff(record, timeout.sessionId)).diff.state, 'offered');
  const broken = await openTestSession(record, { state: 'starting' });
  await acceptResult(deps, broken, resultOf(patch, { reason: 'start_failed' }));
  await assert.rejects(openDiff(record, broken.sessionId), { code: 'diff_missing' });
  const nothing = await openTestSession(record);
  await acceptResult(deps, nothing, resultOf(patch, { diff: null, patch: null }));
  await assert.rejects(openDiff(record, nothing.sessionId), { code: 'diff_missing' });
});

test('a budget that the dispatcher found used up is the reason, whatever the server makes of it', async () => {
  for (const [told, ended] of [
    ['model_failed', 'budget_cost'],
    ['finished', 'finished'],
  ] as const) {
    const claim = await openTestSession(record);
    await record.database.query(`UPDATE sessions SET stop_reason = 'budget_cost' WHERE id = $1`, [
      claim.sessionId,
    ]);
    await acceptResult(deps, claim, resultOf(patch, { reason: told }));
    assert.equal((await stateOf(claim.sessionId))?.reason, ended);
  }
});

test('a large patch comes by upload, only the attempt’s own, and its bytes are verified when read', async () => {
  const claim = await openTestSession(record);
  const large = Buffer.alloc(700_000, 'p');
  const content = { sha256: digestOf(large), bytes: large.byteLength };
  const foreign = await announceUpload(record, 'local', 'ada', content);
  const byUpload = (uploadId: string) => resultOf(large, { patch: { kind: 'upload', uploadId } });
  await assert.rejects(acceptResult(deps, claim, byUpload(foreign.uploadId)), { code: 'not_found' });
  const owner = attemptOwner(claim);
  const own = await announceUpload(record, 'local', owner, content);
  await assert.rejects(acceptResult(deps, claim, byUpload(own.uploadId)), { code: 'digest_mismatch' });
  await record.objects.put(incomingKey({ id: own.uploadId, owner }), large);
  await completeUpload(record, own.uploadId, owner);
  await acceptResult(deps, claim, byUpload(own.uploadId));
  assert.deepEqual(await readWhole(await openDiff(record, claim.sessionId), 1_000_000), large);
  assert.equal(await readWhole(await openDiff(record, claim.sessionId), 1_000), null);
  await record.objects.put(objectKey('local', content.sha256), Buffer.alloc(700_000, 'q'));
  await assert.rejects(readWhole(await openDiff(record, claim.sessionId), 1_000_000), {
    code: 'digest_mismatch',
  });
});

test('accepting needs a person, the digest and every flagged file; it is done once and cites the closed chain', async () => {
  const claim = await openTestSession(record);
  const accept = (flaggedFiles: string[], sha256 = digestOf(patch), person = ada) =>
    decideDiff(record, person, claim.sessionId, { kind: 'accept', sha256, flaggedFiles });
  await assert.rejects(accept([]), { code: 'diff_missing' });
  await acceptResult(deps, claim, resultOf());
  await assert.rejects(accept([]), { code: 'request_invalid', details: { unnamed: ['package.json'] } });
  await assert.rejects(accept(['package.json'], '0'.repeat(64)), { code: 'digest_mismatch' });
  await assert.rejects(accept(['package.json'], digestOf(patch), { ...ada, kind: 'automation' }), {
    code: 'forbidden',
  });
  const results = await Promise.allSettled([
    accept(['package.json']),
    decideDiff(record, ada, claim.sessionId, { kind: 'reject' }),
  ]);
  assert.deepEqual(results.map((result) => result.status).sort(), ['fulfilled', 'rejected']);
  await assert.rejects(accept(['package.json']), { code: 'diff_decided' });
  const head = await record.audit.head(record.database, sessionChain(claim.sessionId));
  const entry = (await chainEntries(record, reviewChain('local'))).at(-1);
  assert.equal(entry?.type, 'diff.decided');
  assert.equal(entry.body['session'], claim.sessionId);
  assert.equal(entry.body['sessionChainDigest'], head?.digest);
  assert.equal(entry.body['sessionChainClosed'], true);
});

test('half a surrogate pair in the closing words or in a path does not keep a session from its end', async () => {
  const claim = await openTestSession(record);
  const whole = resultOf();
  const torn = resultOf(patch, {
    message: 'cut in an emoji \ud83d',
    diff: whole.diff && {
      ...whole.diff,
      files: whole.diff.files.map((file) => ({ ...file, path: 'a\ud800\0.json' })),
    },
  });
  await acceptResult(deps, claim, torn);
  assert.deepEqual(await acceptResult(deps, claim, torn), { accepted: true });
  assert.equal((await stateOf(claim.sessionId))?.state, 'completed');
  const { diff } = await openDiff(record, claim.sessionId);
  assert.equal(diff.summary.files[0]?.path, 'a\ufffd\u2400.json');
});
