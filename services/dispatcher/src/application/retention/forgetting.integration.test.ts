import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { noRules } from '@lemniscate/shared/api/retention.ts';
import type { RetentionRules } from '@lemniscate/shared/api/retention.ts';
import { reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { createPeopleMap } from '../../adapters/postgres/people-map.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { contentVersion } from '../content-version.ts';
import type { Person } from '../identity.ts';
import { objectKey } from '../ports/object-store.ts';
import { endSession } from '../sessions/end-session.ts';
import { announceUpload } from '../uploads/announce-upload.ts';
import { forgetAbandoned } from '../uploads/forget-abandoned.ts';
import { incomingKey } from '../uploads/upload-row.ts';
import { applyRetention } from './apply-retention.ts';
import { erasePerson } from './erase-person.ts';
import { eraseSession } from './erase-session.ts';
import { placeHold, releaseHold } from './holds.ts';
import { removeObjects } from './object-removals.ts';
import { readRules, setRules } from './rules.ts';

let record: TestRecord;
let owner: Client;
let deps: TestRecord & { contentKeys: null; people: ReturnType<typeof createPeopleMap> };
const admin: Person = { subject: 'root@example.org', name: 'Root', kind: 'human', roles: ['administrator'] };
before(async () => {
  record = await createTestRecord();
  deps = { ...record, contentKeys: null, people: createPeopleMap(record.clock) };
  owner = new Client({ connectionString: record.url.href });
  await owner.connect();
  // the project is there with its first session
  await openTestSession(record);
});
after(async () => {
  await owner.end();
  await record.close();
});

const query = (text: string, values: readonly unknown[] = []) => record.database.query(text, [...values]);
const setTo = async (rules: Partial<RetentionRules>) =>
  setRules(
    deps,
    admin,
    'local',
    { ...noRules, ...rules },
    contentVersion(await readRules(record.database, 'local')),
  );

/** Tables of the workspace that have the words in any column. */
async function placesOf(words: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of [
    'agent_servers',
    'deliveries',
    'environments',
    'fleet_stops',
    'inbox_items',
    'intake_pauses',
    'memories',
    'memory_carries',
    'memory_proposals',
    'notices',
    'object_comments',
    'object_files',
    'object_history',
    'objects',
    'revoked_users',
    'uploads',
  ]) {
    const rows = await query(`SELECT FROM ${table} t WHERE position($1 IN t::text) > 0 LIMIT 1`, [words]);
    if (rows.length > 0) found.push(table);
  }
  return found;
}

/** An ended session of an agent. */
async function endedSession(): Promise<string> {
  const { sessionId } = await openTestSession(record);
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId, reason: 'finished', message: 'done', subject: 'somebody' }),
  );
  return sessionId;
}

/** An object about which much was said. @returns its id */
async function spokenObject(id: string, words: string, session: string | null = null): Promise<string> {
  await query(
    `INSERT INTO objects (id, project_id, type, title, body, labels, status, actor_kind, created_by)
     VALUES ($1, 'local', 'task', $2, $2, ARRAY[$2], 'open', 'person', 'somebody')`,
    [id, words],
  );
  await query(
    `INSERT INTO object_comments (id, object_id, body, actor_kind, created_by, session_id)
     VALUES ('comment-' || $1, $1, $2, 'person', 'somebody', $3)`,
    [id, words, session],
  );
  await query(
    `INSERT INTO object_history (object_id, act, actor_kind, acted_by, detail)
     VALUES ($1, 'changed', 'person', 'somebody', jsonb_build_object('labels', $2::text))`,
    [id, words],
  );
  await query(
    `INSERT INTO inbox_items (id, subject, kind, project_id, title, object_id, about)
     VALUES ('item-' || $1, 'somebody', 'mention', 'local', $2, $1, 'about-' || $1)`,
    [id, words],
  );
  await query(
    `INSERT INTO deliveries (id, project_id, cause, state, reason, message, object_id)
     VALUES ('delivery-' || $1, 'local', 'mention', 'refused', 'session_refused', $2, $1)`,
    [id, words],
  );
  await query(
    `INSERT INTO notify_targets (id, project_id, definition, enabled, changed_by)
     VALUES ('target', '*', '{}', true, 'fleet') ON CONFLICT DO NOTHING`,
  );
  await query(
    `INSERT INTO notices (target_id, type, payload, about) VALUES ('target', 'test',
       jsonb_build_object('type', 'test', 'data', jsonb_build_object('object', $1::text, 'title', $2::text)), gen_random_uuid())`,
    [id, words],
  );
  return id;
}

const age = async (id: string, days: number) => {
  const then = 'now() - make_interval(days => $2)';
  await query(`UPDATE objects SET changed_at = ${then} WHERE id = $1`, [id, days]);
  // the fleet's own role cannot set history back
  await owner.query(`UPDATE object_history SET at = ${then} WHERE object_id = $1`, [id, days]);
};

test('an object that nothing has happened to is emptied by the rule of its project, and not before', async () => {
  const [words, fresh] = ['MARKERobject', 'MARKERfresh'];
  const id = await spokenObject('object-old', words);
  await spokenObject('object-fresh', fresh);
  const everywhere = ['deliveries', 'inbox_items', 'notices', 'object_comments', 'object_history', 'objects'];
  await age(id, 31);
  assert.equal(await applyRetention(deps), 0, 'without a rule nothing goes');
  await setTo({ objects: 30 });
  // an act is younger than the object's own change
  await owner.query('UPDATE object_history SET at = now() WHERE object_id = $1', [id]);
  assert.equal(await applyRetention(deps), 0);
  await age(id, 31);
  const hold = await placeHold(deps, admin, { scope: 'project', of: 'local' });
  assert.equal(await applyRetention(deps), 0, 'a hold stands over the project');
  await releaseHold(deps, admin, hold);
  assert.deepEqual(await placesOf(words), everywhere);
  assert.equal(await applyRetention(deps), 1);
  assert.deepEqual(await placesOf(words), []);
  assert.deepEqual(await placesOf(fresh), everywhere);
  const entry = (await chainEntries(record, reviewChain('local'))).at(-1);
  assert.deepEqual(
    [entry?.type, entry?.body['rule'], entry?.body['removed']],
    ['retention.applied', 'objects', { objects: 1, comments: 1, notices: 1 }],
  );
  assert.equal(await applyRetention(deps), 0, 'what is empty is not emptied again');
  await setTo({});
});

test('an object that a session works on, or over whose session a hold stands, waits', async () => {
  const { sessionId } = await openTestSession(record);
  const id = await spokenObject('object-busy', 'MARKERbusy');
  await query('UPDATE sessions SET object_id = $2 WHERE id = $1', [sessionId, id]);
  await age(id, 31);
  await setTo({ objects: 30 });
  assert.equal(await applyRetention(deps), 0);
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId, reason: 'finished', message: '', subject: 'somebody' }),
  );
  const hold = await placeHold(deps, admin, { scope: 'session', of: sessionId });
  await age(id, 31);
  assert.equal(await applyRetention(deps), 0);
  await releaseHold(deps, admin, hold);
  assert.equal(await applyRetention(deps), 1);
  assert.deepEqual(await placesOf('MARKERbusy'), []);
  await setTo({});
});

/** Bytes of a file, in the store and in the list of what was sent. @returns what a memory says of it */
async function memoryFile(session: string, path: string, at: string) {
  const bytes = Buffer.from(`${path} of ${session}`);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await record.objects.put(objectKey('local', sha256), bytes);
  await query(
    `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
     VALUES ($1, 'local', 'attempt:' || $2 || '/1', $3, $4, 'stored', now())`,
    [record.newId('upload'), session, sha256, bytes.length],
  );
  return { path, sha256, bytes: bytes.length, session, at };
}
type MemoryFile = Awaited<ReturnType<typeof memoryFile>>;

const remember = (version: number, files: readonly MemoryFile[]) =>
  query(
    `INSERT INTO memories (agent_id, project_id, version, files, changed_by) VALUES ('default', 'local', $1, $2, 'somebody')`,
    [version, JSON.stringify(files)],
  );
const there = async ({ sha256 }: MemoryFile) =>
  (await record.objects.size(objectKey('local', sha256))) !== null;
const filesOf = async (version: number) => {
  const [row] = await record.database.query<{ files: MemoryFile[] }>(
    `SELECT files FROM memories WHERE agent_id = 'default' AND project_id = 'local' AND version = $1`,
    [version],
  );
  return row?.files.map(({ path }) => path);
};
const now = () => new Date().toISOString();

test('what a session left in a memory goes with it, out of every version, its bytes too', async () => {
  const [one, other] = [await endedSession(), await endedSession()];
  const gone = await memoryFile(one, 'MARKERmemory.md', now());
  const proposed = await memoryFile(one, 'MARKERproposed.md', now());
  const stays = await memoryFile(other, 'stays.md', now());
  await remember(1, [gone]);
  await remember(2, [gone, stays]);
  await query(
    `INSERT INTO memory_proposals (session_id, agent_id, project_id, base_version, files, state)
     VALUES ($1, 'default', 'local', 2, $2, 'waiting')`,
    [one, JSON.stringify([proposed])],
  );
  await query(
    `INSERT INTO memory_carries (id, agent_id, project_id, from_project, from_version, files, asked_by)
     VALUES ('carry', 'default', 'local', 'local', 2, $1, 'somebody')`,
    [JSON.stringify([gone, stays])],
  );
  // bytes that an attempt sent and no result took
  const lost = await memoryFile(one, 'MARKERlost.md', now());
  assert.deepEqual(await placesOf('MARKERmemory'), ['memories', 'memory_carries']);
  const removed = await eraseSession(deps, admin, one);
  assert.deepEqual([removed['memoryFiles'], removed['memoryProposals']], [2, 1]);
  await removeObjects(record);
  assert.deepEqual(await placesOf('MARKERmemory'), []);
  assert.deepEqual(await placesOf('MARKERproposed'), []);
  assert.deepEqual([await filesOf(1), await filesOf(2)], [[], ['stays.md']]);
  assert.deepEqual(await Promise.all([gone, proposed, lost, stays].map(there)), [false, false, false, true]);
});

test('files of a memory that nobody has written anew go by the rule, but for those of a held session', async () => {
  const [session, held] = [await endedSession(), await endedSession()];
  const then = new Date(Date.now() - 40 * 86_400_000).toISOString();
  const [old, kept, young] = [
    await memoryFile(session, 'old.md', then),
    await memoryFile(held, 'held.md', then),
    await memoryFile(session, 'young.md', now()),
  ];
  await remember(11, [old, kept, young]);
  await setTo({ memory: 41 });
  assert.equal(await applyRetention(deps), 0);
  await setTo({ memory: 30 });
  const hold = await placeHold(deps, admin, { scope: 'session', of: held });
  assert.equal(await applyRetention(deps), 1);
  await removeObjects(record);
  assert.deepEqual(await filesOf(11), ['held.md', 'young.md']);
  assert.deepEqual(await Promise.all([old, kept, young].map(there)), [false, true, true]);
  await releaseHold(deps, admin, hold);
  assert.equal(await applyRetention(deps), 1);
  await removeObjects(record);
  assert.equal(await there(kept), false);
  await setTo({});
});

test('what an agent remembers outlives the rule for sessions, and a proposal ends by the rule for memory', async () => {
  const session = await endedSession();
  const kept = await memoryFile(session, 'outlives.md', now());
  const proposed = await memoryFile(session, 'proposed.md', now());
  await remember(21, [kept]);
  await query(
    `INSERT INTO memory_proposals (session_id, agent_id, project_id, base_version, files, state, created_at)
     VALUES ($1, 'default', 'local', 21, $2, 'waiting', now() - interval '40 days')`,
    [session, JSON.stringify([proposed])],
  );
  await query(`UPDATE sessions SET ended_at = now() - interval '10 days' WHERE id = $1`, [session]);
  await setTo({ sessions: 5 });
  assert.equal(await applyRetention(deps), 1);
  await removeObjects(record);
  assert.deepEqual(await filesOf(21), ['outlives.md']);
  assert.deepEqual(await placesOf('proposed.md'), ['memory_proposals']);
  assert.deepEqual(await Promise.all([kept, proposed].map(there)), [true, true]);
  await setTo({ memory: 30 });
  assert.equal(await applyRetention(deps), 1);
  await removeObjects(record);
  assert.deepEqual(await placesOf('proposed.md'), []);
  assert.deepEqual(await Promise.all([kept, proposed].map(there)), [true, false]);
  await setTo({});
});

test('why a build failed goes with the session that built', async () => {
  const session = await endedSession();
  await query(
    `INSERT INTO environments (id, project_id, key, state, cause, session_id, repository, definition, message)
     VALUES ('env', 'local', 'k', 'failed', 'person', $1, '{}', '{}', 'npm said MARKERbuild')`,
    [session],
  );
  assert.deepEqual(await placesOf('MARKERbuild'), ['environments']);
  await eraseSession(deps, admin, session);
  assert.deepEqual(await placesOf('MARKERbuild'), []);
});

test('what was announced and never finished, or sent and never used, is forgotten after a day', async () => {
  const person = 'person:sender@example.org';
  const bytes = Buffer.from('MARKERsent');
  const content = { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
  const { uploadId } = await announceUpload(record, 'local', person, content);
  const waiting = incomingKey({ id: uploadId, owner: person });
  await record.objects.put(waiting, bytes);
  const used = createHash('sha256').update('used').digest('hex');
  const unused = createHash('sha256').update('unused').digest('hex');
  for (const sha256 of [used, unused]) {
    await record.objects.put(objectKey('local', sha256), Buffer.from(sha256));
    await query(
      `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
       VALUES ($1, 'local', $2, $3, 64, 'stored', now())`,
      [record.newId('upload'), person, sha256],
    );
  }
  await query(
    `UPDATE sessions SET repository = jsonb_build_object('kind', 'bundle', 'sha256', $2::text) WHERE id = $1`,
    [await endedSession(), used],
  );
  const ofObject = createHash('sha256').update('object').digest('hex');
  await record.objects.put(objectKey('local', ofObject), Buffer.from(ofObject));
  await query(
    `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
     VALUES ($1, 'local', $2, $3, 64, 'stored', now())`,
    [record.newId('upload'), person, ofObject],
  );
  await spokenObject('object-with-bundle', 'words');
  await query(
    `UPDATE objects SET repository = jsonb_build_object('kind', 'bundle', 'sha256', $1::text) WHERE id = $2`,
    [ofObject, 'object-with-bundle'],
  );
  const size = (key: string) => record.objects.size(key);
  assert.equal(await forgetAbandoned(record.database), 0, 'within a day it may still be sent');
  await query(`UPDATE uploads SET created_at = now() - interval '25 hours' WHERE owner = $1`, [person]);
  assert.equal(await forgetAbandoned(record.database), 2);
  await removeObjects(record);
  assert.equal(await size(waiting), null);
  assert.equal(await size(objectKey('local', unused)), null);
  assert.ok((await size(objectKey('local', used))) !== null);
  // nobody has worked on it yet, and somebody may
  assert.ok((await size(objectKey('local', ofObject))) !== null);
});

test('sentences of ours and notes of administrators name an erased person no more', async () => {
  const identity = 'named.elsewhere@example.org';
  await record.database.transaction((tx) => deps.people.pseudonyms(tx, [identity]));
  const said = `${identity}, in whose name it would run, may not open sessions.`;
  await query(
    `INSERT INTO deliveries (id, project_id, cause, state, reason, message)
     VALUES ('delivery-named', 'local', 'cron', 'refused', 'owner_not_member', $1)`,
    [said],
  );
  await query(`INSERT INTO intake_pauses (scope, paused_by, note) VALUES ('project:named', 'root', $1)`, [
    said,
  ]);
  await query(`INSERT INTO revoked_users (subject, revoked_by, note) VALUES ('other', 'root', $1)`, [said]);
  await query(
    `INSERT INTO environments (id, project_id, key, state, cause, session_id, repository, definition, message)
     VALUES ('env-named', 'local', 'k', 'failed', 'person', $1, '{}', '{}', $2)`,
    [await endedSession(), said],
  );
  const tables = ['deliveries', 'environments', 'intake_pauses', 'revoked_users'];
  assert.deepEqual(await placesOf(identity), tables);
  await erasePerson(deps, admin, identity);
  assert.deepEqual(await placesOf(identity), []);
});

test('a person’s uploads under way go with the person: the address of one has their name', async () => {
  const identity = 'half.sent@example.org';
  await record.database.transaction((tx) => deps.people.pseudonyms(tx, [identity]));
  const sender = `person:${identity}`;
  const { uploadId } = await announceUpload(record, 'local', sender, { sha256: 'c'.repeat(64), bytes: 4 });
  const key = incomingKey({ id: uploadId, owner: sender });
  await record.objects.put(key, Buffer.from('half'));
  await erasePerson(deps, admin, identity);
  await removeObjects(record);
  assert.equal(await record.objects.size(key), null);
  assert.deepEqual(await placesOf(identity), []);
});
