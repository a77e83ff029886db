import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { PolicyInput } from '@lemniscate/shared/policy/policy.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { Person } from '../identity.ts';
import { decideDiff } from './decide-diff.ts';
import { readDiff } from './diff-row.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const ada: Person = { subject: 'ada', name: 'Ada', kind: 'human' };
const ben: Person = { subject: 'ben', name: 'Ben', kind: 'human' };
const robot: Person = { subject: 'ci', name: 'CI', kind: 'automation', roles: ['administrator'] };
const sha256 = createHash('sha256').update('patch').digest('hex');

/** A session that has ended and offers a diff of three files, one of them flagged. */
async function offered(policy: PolicyInput = {}): Promise<string> {
  const { sessionId } = await openTestSession(record, { policy });
  const file = { change: 'modified', insertions: 1, deletions: 0 };
  const summary = {
    sha256,
    bytes: 5,
    baseCommit: 'a'.repeat(40),
    baseTree: 'b'.repeat(40),
    files: [
      { ...file, path: 'src/a.ts', flags: [] },
      { ...file, path: 'src/b.ts', flags: [] },
      { ...file, path: 'package.json', flags: ['dependencies'] },
    ],
    insertions: 3,
    deletions: 0,
  };
  await record.database.query(
    `INSERT INTO diffs (session_id, summary, patch, state) VALUES ($1, $2, 'patch', 'offered')`,
    [sessionId, JSON.stringify(summary)],
  );
  await record.database.query(`UPDATE sessions SET state = 'completed', phase = 'ended' WHERE id = $1`, [
    sessionId,
  ]);
  return sessionId;
}

const accept = (sessionId: string, person: Person, files?: string[], flaggedFiles: string[] = []) =>
  decideDiff(record, person, sessionId, { kind: 'accept', sha256, flaggedFiles, files });

async function entriesOf(sessionId: string) {
  const all = await chainEntries(record, reviewChain('local'));
  return all.filter(({ body }) => body['session'] === sessionId);
}

test('some files are accepted, the others rejected with it; flagged ones need their name only when accepted', async () => {
  const id = await offered();
  await assert.rejects(accept(id, ada, ['src/a.ts', 'package.json']), { code: 'request_invalid' });
  await assert.rejects(accept(id, ada, ['nowhere.ts']), { code: 'request_invalid' });
  const decided = await accept(id, ada, ['src/b.ts', 'src/a.ts']);
  assert.deepEqual([decided.state, decided.acceptedFiles], ['accepted', ['src/a.ts', 'src/b.ts']]);
  const row = await readDiff(record.database, id);
  assert.deepEqual([row.state, row.accepted_files], ['accepted', ['src/a.ts', 'src/b.ts']]);
  const [entry, ...more] = await entriesOf(id);
  assert.deepEqual(more, []);
  assert.deepEqual(entry?.body['rejectedFiles'], ['package.json']);
  assert.deepEqual(entry?.body['flaggedFiles'], []);
  assert.equal(entry?.body['decidedBy'], 'human');
  const head = await record.audit.head(record.database, sessionChain(id));
  assert.equal(entry?.body['sessionChainDigest'], head?.digest);
  await assert.rejects(accept(id, ben), { code: 'diff_decided' });
});

test('naming every file is the whole diff', async () => {
  const id = await offered();
  const decided = await accept(id, ada, ['package.json', 'src/a.ts', 'src/b.ts'], ['package.json']);
  assert.deepEqual([decided.state, decided.acceptedFiles], ['accepted', null]);
});

test('four eyes on a diff: two people, the same files; one no is enough; no program counts', async () => {
  const policy = { fourEyes: [{ diffs: ['package.json'] }] };
  const id = await offered(policy);
  await assert.rejects(accept(id, robot), { code: 'forbidden' });
  const first = await accept(id, ada, undefined, ['package.json']);
  assert.deepEqual([first.state, first.people, first.acceptedBy], ['offered', 2, ['ada']]);
  await assert.rejects(accept(id, ada, undefined, ['package.json']), { code: 'diff_decided' });
  // Ben means less: their yes is not the same yes
  assert.equal((await accept(id, ben, ['package.json'], ['package.json'])).state, 'offered');
  const second = await accept(id, ben, undefined, ['package.json']);
  assert.deepEqual([second.state, second.acceptedBy], ['accepted', ['ada', 'ben']]);
  assert.deepEqual(
    (await entriesOf(id)).map(({ type }) => type),
    ['diff.voted', 'diff.voted', 'diff.decided'],
  );
  const free = await offered(policy);
  assert.equal((await accept(free, ada, ['src/a.ts'])).state, 'accepted');
  const refused = await offered(policy);
  await accept(refused, ada, undefined, ['package.json']);
  assert.equal((await decideDiff(record, ben, refused, { kind: 'reject' })).state, 'rejected');
});

test('the yes of somebody whose access was taken away makes no second pair of eyes', async () => {
  const id = await offered({ fourEyes: [{ diffs: ['**'] }] });
  await accept(id, { ...ada, subject: 'gone' }, ['src/a.ts']);
  await record.database.query(`INSERT INTO revoked_users (subject, revoked_by) VALUES ('gone', 'root')`);
  const second = await accept(id, ada, ['src/a.ts']);
  assert.deepEqual([second.state, second.acceptedBy], ['offered', ['ada']]);
  assert.equal((await accept(id, ben, ['src/a.ts'])).state, 'accepted');
});

test('two people at the same moment decide once', async () => {
  for (let round = 0; round < 5; round += 1) {
    const id = await offered({ fourEyes: [{ diffs: ['**'] }] });
    const decided = await Promise.all([ada, ben].map((who) => accept(id, who, ['src/a.ts'])));
    assert.deepEqual(new Set(decided.map(({ state }) => state)), new Set(['offered', 'accepted']));
  }
});
