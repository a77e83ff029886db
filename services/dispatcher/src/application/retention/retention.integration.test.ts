import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { noRules } from '@lemniscate/shared/api/retention.ts';
import type { RetentionRules } from '@lemniscate/shared/api/retention.ts';
import { fleetChain, reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import { createKeyFile } from '../../adapters/content-keys/key-file.ts';
import { createPeopleMap } from '../../adapters/postgres/people-map.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import { contentVersion } from '../content-version.ts';
import { countParts, readContent } from '../content/read-content.ts';
import { retainContent } from '../content/retain-content.ts';
import { shredProject } from '../content/shred.ts';
import { ingestBatch } from '../events/ingest-batch.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Person } from '../identity.ts';
import { objectKey } from '../ports/object-store.ts';
import { endSession } from '../sessions/end-session.ts';
import { linkAccount, unlinkAccount } from '../triggers/account-links.ts';
import { applyRetention } from './apply-retention.ts';
import { erasePerson, erasedPersonColumns, otherPersonColumns } from './erase-person.ts';
import { eraseSession } from './erase-session.ts';
import { erasedPersonJson } from './person-traces.ts';
import { placeHold, releaseHold } from './holds.ts';
import { removeObjects } from './object-removals.ts';
import { readRules, setRules } from './rules.ts';

let record: TestRecord;
let owner: Client;
const folder = mkdtempSync(join(tmpdir(), 'retention-'));
writeFileSync(join(folder, 'key'), `${randomBytes(32).toString('base64')}\n`);
const contentKeys = createKeyFile(join(folder, 'key'));
const admin: Person = { subject: 'root@example.org', name: 'Root', kind: 'human', roles: ['administrator'] };
let deps: TestRecord & { contentKeys: typeof contentKeys; people: ReturnType<typeof createPeopleMap> };

before(async () => {
  record = await createTestRecord();
  owner = new Client({ connectionString: record.url.href });
  await owner.connect();
  deps = { ...record, contentKeys, people: createPeopleMap(record.clock) };
});
after(async () => {
  await owner.end();
  await record.close();
  rmSync(folder, { recursive: true });
});

const at = '2026-01-01T00:00:00.000Z';

/** An ended session by a person with the marker in every store that holds content. */
async function endedSession(marker: string, person = 'person-1'): Promise<AttemptClaim> {
  const claim = await openTestSession(record);
  const id = claim.sessionId;
  const query = (text: string, values: unknown[]) => record.database.query(text, values);
  await query('UPDATE sessions SET instruction = $2, opened_by = $3, message = $2 WHERE id = $1', [
    id,
    `do ${marker}`,
    person,
  ]);
  const text = (words: string) => ({ at, event: { type: 'text', turn: 1, text: words } });
  const output = { type: 'output', callId: 'c1', stream: 'stdout', text: `${marker} ${'x'.repeat(20_000)}` };
  await ingestBatch(record, claim, { firstSeq: 1, events: [text(`said ${marker}`), { at, event: output }] });
  await query(
    `INSERT INTO approvals (id, session_id, call_id, arguments_digest, policy_digest, tool, title, arguments, reasons,
       state, decided_by, subject, pattern, expires_at)
     VALUES ($1, $2, 'c1', '', '', 'run_command', $3, to_jsonb(ARRAY[$3]), to_jsonb(ARRAY[$3]), 'approved', 'human', $4, $3,
       now())`,
    [`apr_${marker}`.replace(marker, id), id, marker, person],
  );
  await query(
    `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state, answer, decided_by, path, ended_at)
     VALUES ($1, 1, 'c1', 1, 'read_file', 'done', to_jsonb(ARRAY[$2]), 'human', $2, now())`,
    [id, marker],
  );
  const file = { path: `${marker}.js`, change: 'added', insertions: 1, deletions: 0, flags: [] };
  const summary = { sha256: 'a'.repeat(64), bytes: 1, baseCommit: 'b', baseTree: 't', files: [file] };
  await query(
    `INSERT INTO diffs (session_id, summary, patch, state, decided_by) VALUES ($1, $2, $3, 'accepted', $4)`,
    [id, { ...summary, insertions: 1, deletions: 0 }, Buffer.from(`+${marker}`), person],
  );
  const archive = Buffer.from(`archive ${id} ${marker}`);
  const archiveDigest = createHash('sha256').update(archive).digest('hex');
  await record.objects.put(objectKey('local', archiveDigest), archive);
  await query(
    `INSERT INTO checkpoints (session_id, number, attempt, cause, event_position, base_commit, transcript_sha256,
       transcript_bytes, archive_sha256, archive_bytes, workspace_digest, home_digest, diff_summary, diff_patch,
       diff_object_sha256)
     VALUES ($1, 1, 1, 'pause', 1, 'b', $2, 1, $2, 1, '', '', $3, $4, $5)`,
    [id, archiveDigest, summary, Buffer.from(`+${marker}`), await stored(claim, `diff ${marker}`)],
  );
  await leaveFile(claim, marker);
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: id, reason: 'finished', message: `done ${marker}`, subject: person }),
  );
  return claim;
}

/** An object that the session's attempt has sent. @returns its digest */
async function stored({ sessionId }: AttemptClaim, words: string): Promise<string> {
  const bytes = Buffer.from(`${words} of ${sessionId}`);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await record.objects.put(objectKey('local', sha256), bytes);
  await record.database.query(
    `INSERT INTO uploads (id, project_id, owner, sha256, bytes, state, completed_at)
     VALUES ($1, 'local', 'attempt:' || $2 || '/1', $3, $4, 'stored', now())`,
    [record.newId('upload'), sessionId, sha256, bytes.length],
  );
  return sha256;
}

/** A file of the session, attached to an object, a comment of its agent there, and what targets were told of both. */
async function leaveFile(claim: AttemptClaim, marker: string): Promise<void> {
  const id = claim.sessionId;
  const query = (text: string, values: unknown[]) => record.database.query(text, values);
  const file = await stored(claim, `file ${marker}`);
  await query('INSERT INTO session_files (session_id, path, sha256, bytes) VALUES ($1, $2, $3, 1)', [
    id,
    `${marker}.md`,
    file,
  ]);
  const object = `object-of-${id}`;
  await query(
    `INSERT INTO objects (id, project_id, type, title, body, status, actor_kind, created_by)
     VALUES ($1, 'local', 'task', 'A task', '', 'open', 'person', 'somebody')`,
    [object],
  );
  await query(
    `INSERT INTO object_files (object_id, session_id, path, actor_kind, attached_by) VALUES ($1, $2, $3, 'agent', 'fixer')`,
    [object, id, `${marker}.md`],
  );
  await query(
    `INSERT INTO object_history (object_id, act, actor_kind, acted_by, session_id, detail)
     VALUES ($1, 'attached', 'agent', 'fixer', $2, jsonb_build_object('session', $2::text, 'files', ARRAY[$3::text]))`,
    [object, id, `${marker}.md`],
  );
  await query(
    `INSERT INTO object_comments (id, object_id, body, actor_kind, created_by, session_id)
     VALUES ('comment-of-' || $2, $1, $3, 'agent', 'fixer', $2)`,
    [object, id, `commented ${marker}`],
  );
  await query(
    `INSERT INTO notify_targets (id, project_id, definition, enabled, changed_by)
     VALUES ('target', '*', '{}', true, 'fleet') ON CONFLICT DO NOTHING`,
    [],
  );
  const data = [
    { comment: `comment-of-${id}`, body: `commented ${marker}` },
    { session: id, note: marker },
  ];
  for (const each of data)
    await query(
      `INSERT INTO notices (target_id, type, payload, about) VALUES ('target', 'test',
         jsonb_build_object('type', 'test', 'data', $1::jsonb), gen_random_uuid())`,
      [JSON.stringify(each)],
    );
}

/** What the person did and said about an object, and where they are told of things. */
async function actOnObject({ sessionId }: AttemptClaim, identity: string): Promise<void> {
  const query = (text: string, values: unknown[]) => record.database.query(text, values);
  const object = `object-of-${sessionId}`;
  await query(
    `INSERT INTO object_history (object_id, act, actor_kind, acted_by, detail)
     VALUES ($1, 'changed', 'person', $2, jsonb_build_object('assignee', jsonb_build_object('kind', 'person', 'id', $2::text)))`,
    [object, identity],
  );
  await query(
    `INSERT INTO object_comments (id, object_id, body, actor_kind, created_by, member_by)
     VALUES ('said', $1, 'MARKERsaid', 'person', $2, $2)`,
    [object, identity],
  );
  const data = [
    { comment: 'said', body: 'MARKERsaid', by: identity },
    { by: identity },
    { openedBy: identity },
  ];
  for (const each of data)
    await query(
      `INSERT INTO notices (target_id, type, payload, about) VALUES ('target', 'test',
         jsonb_build_object('type', 'test', 'data', $1::jsonb), gen_random_uuid())`,
      [JSON.stringify(each)],
    );
  const mail = { only: [identity.toUpperCase()], both: ['other@example.org', identity] };
  for (const [name, addresses] of Object.entries(mail))
    await query(
      `INSERT INTO notify_targets (id, project_id, definition, enabled, changed_by) VALUES ('mail-' || $1, '*', $2, true, 'fleet')`,
      [name, JSON.stringify({ place: { kind: 'email', addresses } })],
    );
  await query(
    `INSERT INTO inbox_items (id, subject, kind, project_id, title, about)
     VALUES ('item', 'somebody else', 'assignment', 'local', $1 || ' assigned to you', 'about')`,
    [identity],
  );
}

/** JSON that names nobody. */
const namesNobody: readonly string[] = [
  // definitions and rules, by schemas without a member for a person
  'agent_versions.definition',
  'agents.definition',
  'environments.definition',
  'hooks.definition',
  'project_policies.policy',
  'project_retention.rules',
  'projects.policy',
  'sessions.agent_definition',
  'sessions.policy',
  'triggers.definition',
  // what a session did and was given: it goes with the session
  'approvals.arguments',
  'approvals.reasons',
  'checkpoints.diff_summary',
  'diff_votes.files',
  'diffs.accepted_files',
  'diffs.summary',
  'sessions.repository',
  'sessions.skills',
  'tool_calls.answer',
  // paths, digests, addresses of repositories
  'environments.repository',
  'memories.files',
  'memory_carries.files',
  'memory_proposals.files',
  'objects.repository',
  'project_workspaces.repository',
  'skills.files',
  // figures, and words of the fleet
  'agent_server_lists.servers',
  'agent_servers.status',
  'attempts.reported_usage',
  'budget_extensions.grants',
  'budget_extensions.used',
  'environments.installed',
  'queue_book.lanes',
  'remote_tools.input_schema',
  'service_tokens.roles',
  'service_tokens.scopes',
  'usage.served',
  'sessions.bounds',
  'sessions.timings_ms',
  // gone within minutes: a login under way, what a session is about to start with
  'deliveries.terms',
  'login_flows.state',
];

/** Every table that holds the text in any of its columns, whatever their type. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await owner.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const found: string[] = [];
  const hex = Buffer.from(text).toString('hex');
  for (const { name } of tables.rows) {
    const { rowCount } = await owner.query(
      `SELECT FROM "${name}" t WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || $2 || '%' LIMIT 1`,
      [text, hex],
    );
    if (rowCount === 1) found.push(name);
  }
  return found;
}

async function isWhole(chain: string): Promise<void> {
  const { rows } = await owner.query<Omit<ChainedEntry, 'seq' | 'at'> & { seq: string; at: Date }>(
    'SELECT * FROM audit_entries WHERE chain = $1 ORDER BY seq',
    [chain],
  );
  const verifier = createChainVerifier(chain);
  for (const row of rows) verifier.push({ ...row, seq: Number(row.seq), at: row.at.toISOString() });
  assert.equal(verifier.finish(), null);
}

const last = async (chain: string) => (await chainEntries(record, chain)).at(-1);

test('an erased session is found nowhere, its object neither, and its chain and the citation stand', async () => {
  const claim = await endedSession('MARKERone');
  const [segment] = await record.database.query<{ segment_key: string }>(
    'SELECT segment_key FROM session_events WHERE session_id = $1 AND segment_key IS NOT NULL',
    [claim.sessionId],
  );
  const key = segment?.segment_key ?? assert.fail('the output lies in a segment');
  // the search can find it
  assert.deepEqual(await tablesWith('MARKERone'), [
    'approvals',
    'checkpoints',
    'diffs',
    'notices',
    'object_comments',
    'object_files',
    'object_history',
    'session_events',
    'session_files',
    'sessions',
    'tool_calls',
  ]);
  assert.ok((await record.objects.size(key)) !== null);
  const archive = createHash('sha256').update(`archive ${claim.sessionId} MARKERone`).digest('hex');
  assert.ok((await record.objects.size(objectKey('local', archive))) !== null);
  const sent = ['diff', 'file'].map((kind) =>
    objectKey('local', createHash('sha256').update(`${kind} MARKERone of ${claim.sessionId}`).digest('hex')),
  );
  for (const each of sent) assert.ok((await record.objects.size(each)) !== null);
  const removed = await eraseSession(deps, admin, claim.sessionId);
  assert.ok(
    (removed['events'] ?? 0) >= 2 &&
      removed['segments'] === 1 &&
      removed['diffs'] === 1 &&
      removed['snapshots'] === 1,
  );
  await removeObjects(record);
  assert.deepEqual(await tablesWith('MARKERone'), []);
  assert.equal(await record.objects.size(key), null);
  for (const each of [...sent, objectKey('local', archive)])
    assert.equal(await record.objects.size(each), null);
  // what waited to be told is not told, and its row stands
  const notices = await record.database.query<{ state: string }>(
    `SELECT state FROM notices WHERE payload -> 'data' = '{}'`,
  );
  assert.deepEqual(
    notices.map(({ state }) => state),
    ['failed', 'failed'],
  );
  const entry = await last(reviewChain('local'));
  assert.equal(entry?.type, 'session.erased');
  assert.equal(entry.subject, admin.subject);
  assert.equal(entry.body['sessionChainClosed'], true);
  await isWhole(sessionChain(claim.sessionId));
  await isWhole(reviewChain('local'));
  // again: nothing left, and no second entry
  const entries = (await chainEntries(record, reviewChain('local'))).length;
  await eraseSession(deps, admin, claim.sessionId);
  assert.equal((await chainEntries(record, reviewChain('local'))).length, entries);
});

test('an object that another session still means outlives the erasure', async () => {
  const [one, other] = [await endedSession('MARKERshared'), await endedSession('MARKERshared')];
  const keys = await record.database.query<{ session_id: string; segment_key: string }>(
    'SELECT session_id, segment_key FROM session_events WHERE segment_key IS NOT NULL AND session_id = ANY ($1)',
    [[one.sessionId, other.sessionId]],
  );
  assert.equal(new Set(keys.map(({ segment_key }) => segment_key)).size, 1);
  const key = keys[0]?.segment_key ?? '';
  await eraseSession(deps, admin, one.sessionId);
  await removeObjects(record);
  assert.ok((await record.objects.size(key)) !== null);
  await eraseSession(deps, admin, other.sessionId);
  await removeObjects(record);
  assert.equal(await record.objects.size(key), null);
});

const seenRules = async () => contentVersion(await readRules(record.database, 'local'));
const changeRules = async (rules: RetentionRules) => setRules(deps, admin, 'local', rules, await seenRules());

test('a running session and one under a legal hold are not erased, by nobody and no rule', async () => {
  const running = await openTestSession(record);
  await assert.rejects(eraseSession(deps, admin, running.sessionId), { code: 'conflict' });
  const claim = await endedSession('MARKERheld');
  const old = `UPDATE sessions SET ended_at = now() - interval '10 days' WHERE id = $1`;
  await record.database.query(old, [claim.sessionId]);
  const session = await placeHold(deps, admin, { scope: 'session', of: claim.sessionId });
  const project = await placeHold(deps, admin, { scope: 'project', of: 'local' });
  await changeRules({ ...noRules, sessions: 1 });
  for (const hold of [session, project]) {
    await assert.rejects(eraseSession(deps, admin, claim.sessionId), { code: 'conflict' });
    await assert.rejects(erasePerson(deps, admin, 'person-1'), { code: 'conflict' });
    await applyRetention(deps);
    assert.ok((await tablesWith('MARKERheld')).length > 0);
    await releaseHold(deps, admin, hold);
  }
  await assert.rejects(releaseHold(deps, admin, project), { code: 'not_found' });
  await applyRetention(deps);
  assert.deepEqual(await tablesWith('MARKERheld'), []);
  const types = (await chainEntries(record, reviewChain('local'))).map(({ type }) => type);
  for (const type of ['hold.placed', 'hold.released', 'retention.changed', 'retention.applied'])
    assert.ok(types.includes(type), type);
  await changeRules(noRules);
});

test('a hold over a session covers its sub-agents', async () => {
  const parent = await endedSession('MARKERparent');
  const child = await endedSession('MARKERchild');
  await record.database.query(
    `UPDATE sessions SET parent_id = $2, ancestors = ARRAY[$2], ended_at = now() - interval '10 days' WHERE id = $1`,
    [child.sessionId, parent.sessionId],
  );
  const hold = await placeHold(deps, admin, { scope: 'session', of: parent.sessionId });
  await changeRules({ ...noRules, sessions: 1 });
  await assert.rejects(eraseSession(deps, admin, child.sessionId), { code: 'conflict' });
  await applyRetention(deps);
  assert.ok((await tablesWith('MARKERchild')).includes('session_events'));
  await releaseHold(deps, admin, hold);
  await applyRetention(deps);
  assert.deepEqual(await tablesWith('MARKERchild'), []);
  await changeRules(noRules);
});

test('a person is not erased while a hold covers their comment, or a session of others that names them', async () => {
  const identity = 'held.speaker@example.org';
  const claim = await endedSession('MARKERspeech', 'somebody else');
  const id = claim.sessionId;
  await record.database.query(
    `INSERT INTO object_comments (id, object_id, body, actor_kind, created_by)
     VALUES ('held', 'object-of-' || $1, 'MARKERheldSpeech', 'person', $2)`,
    [id, identity],
  );
  await record.database.transaction((tx) => deps.people.pseudonyms(tx, [identity]));
  const refuses = async (scope: 'project' | 'session', of: string, message: RegExp) => {
    const hold = await placeHold(deps, admin, { scope, of });
    await assert.rejects(erasePerson(deps, admin, identity), { code: 'conflict', message });
    assert.deepEqual(await tablesWith('MARKERheldSpeech'), ['object_comments']);
    await releaseHold(deps, admin, hold);
  };
  await refuses('project', 'local', /has said about object/);
  await record.database.query(`UPDATE sessions SET object_id = 'object-of-' || id WHERE id = $1`, [id]);
  await refuses('session', id, /has said about object/);
  await record.database.query('UPDATE sessions SET object_id = NULL, message = $2 WHERE id = $1', [
    id,
    `Stopped by ${identity}.`,
  ]);
  await refuses('session', id, /which names/);
  await erasePerson(deps, admin, identity);
  assert.deepEqual(await tablesWith('MARKERheldSpeech'), []);
  assert.deepEqual(await tablesWith(identity), []);
});

test('each rule removes its store when the days are over, not before, and says how much', async () => {
  const claim = await endedSession('MARKERrule');
  const age = (days: number) =>
    record.database.query('UPDATE sessions SET ended_at = now() - make_interval(days => $2) WHERE id = $1', [
      claim.sessionId,
      days,
    ]);
  await changeRules({ ...noRules, logs: 7, diffs: 30, snapshots: 40 });
  await age(6);
  assert.equal(await applyRetention(deps), 0);
  await age(8);
  assert.equal(await applyRetention(deps), 1);
  const left = await tablesWith('MARKERrule');
  assert.ok(!left.includes('session_events') && left.includes('diffs') && left.includes('checkpoints'));
  const { body } = (await last(reviewChain('local'))) ?? assert.fail();
  assert.deepEqual([body['rule'], body['days'], body['sessions']], ['logs', 7, 1]);
  await age(31);
  assert.equal(await applyRetention(deps), 1);
  assert.ok(!(await tablesWith('MARKERrule')).includes('diffs'));
  assert.ok(!(await tablesWith('MARKERrule')).includes('checkpoints'), 'the patch of a checkpoint');
  const snapshots = await record.database.query('SELECT FROM checkpoints WHERE session_id = $1', [
    claim.sessionId,
  ]);
  assert.equal(snapshots.length, 1, 'the snapshot has a rule of its own');
  await age(41);
  assert.equal(await applyRetention(deps), 1);
  assert.equal(await applyRetention(deps), 0);
  await changeRules(noRules);
});

test('an erased person is found nowhere, the entries of their acts stand, and nobody is erased by mistake', async () => {
  const identity = 'erase.me@example.org';
  await record.database.query(
    `INSERT INTO people (subject, name, email) VALUES ($1, 'Erika Mustermann', $1)`,
    [identity],
  );
  const claim = await endedSession('MARKERperson', identity);
  const other = await endedSession('MARKERother', 'somebody else');
  await record.database.query('UPDATE diffs SET decided_by = $2 WHERE session_id = $1', [
    other.sessionId,
    identity,
  ]);
  await record.database.query(`UPDATE sessions SET message = 'Stopped by Erika Mustermann.' WHERE id = $1`, [
    other.sessionId,
  ]);
  await actOnObject(other, identity);
  const planted = await tablesWith(identity);
  for (const table of ['audit_people', 'inbox_items', 'notices', 'notify_targets', 'object_history'])
    assert.ok(planted.includes(table), table);
  await assert.rejects(erasePerson(deps, admin, admin.subject), { code: 'conflict' });
  await assert.rejects(erasePerson(deps, admin, 'nobody@example.org'), { code: 'not_found' });
  const { person } = await erasePerson(deps, admin, identity);
  assert.deepEqual(await tablesWith(identity), []);
  assert.deepEqual(await tablesWith('Erika Mustermann'), []);
  assert.deepEqual(await tablesWith('MARKERperson'), []);
  assert.ok((await tablesWith('MARKERother')).length > 0);
  assert.deepEqual(await tablesWith('MARKERsaid'), []);
  const targets = await record.database.query(
    `SELECT id, version, definition #> '{place,addresses}' AS addresses FROM notify_targets WHERE id LIKE 'mail-%'`,
  );
  assert.deepEqual(targets, [{ id: 'mail-both', version: 2, addresses: ['other@example.org'] }]);
  const told = (await chainEntries(record, fleetChain)).filter(({ type }) => type.startsWith('target.'));
  assert.deepEqual(
    told.map(({ type, subject, body }) => [type, subject, body['target']]),
    [
      ['target.changed', admin.subject, 'mail-both'],
      ['target.removed', admin.subject, 'mail-only'],
    ],
  );
  assert.ok((await tablesWith(person)).includes('audit_entries'));
  const entry = await last(fleetChain);
  assert.deepEqual([entry?.type, entry?.body['person']], ['person.erased', person]);
  for (const chain of [sessionChain(claim.sessionId), reviewChain('local'), fleetChain]) await isWhole(chain);
});

test('an account of another system is a pseudonym in the log, and who it was is erased with its person', async () => {
  const identity = 'linked.person@example.org';
  await record.database.query(`INSERT INTO people (subject, name) VALUES ($1, 'Lin Ked')`, [identity]);
  const links = { ...deps, findPerson: () => Promise.resolve({}) } as unknown as Parameters<
    typeof linkAccount
  >[0];
  const versions: number[] = [];
  for (const account of ['octoperson', 'octoformer'])
    versions.push(await linkAccount(links, admin, { source: 'github', account, subject: identity }, 0));
  await unlinkAccount(links, admin, { source: 'github', account: 'octoformer' }, versions[1] ?? 0);
  for (const account of ['octoperson', 'octoformer']) {
    const there = await tablesWith(account);
    assert.ok(there.includes('audit_people') && !there.includes('audit_entries'), there.join(' '));
  }
  await erasePerson(deps, admin, identity);
  for (const account of ['octoperson', 'octoformer']) assert.deepEqual(await tablesWith(account), []);
  await isWhole(fleetChain);
});

test('content is retained encrypted, read on record alone, and shredded with the chain whole', async () => {
  const without = { ...deps, contentKeys: null };
  const rules = { ...noRules, content: 30 };
  await assert.rejects(setRules(without, admin, 'local', rules, await seenRules()), {
    code: 'request_invalid',
  });
  const before = await endedSession('MARKERbefore');
  await changeRules(rules);
  const claim = await endedSession('MARKERkept');
  await retainContent(deps);
  assert.equal(await retainContent(deps), 0);
  assert.equal(await countParts(record.database, before.sessionId), 0, 'retained what ended before the rule');
  assert.equal(await countParts(record.database, claim.sessionId), 2);
  const [row] = await record.database.query<{ object_key: string }>(
    'SELECT object_key FROM retained_content WHERE session_id = $1 AND part = 1',
    [claim.sessionId],
  );
  assert.match(row?.object_key ?? '', /^content\/local\//);
  const found = await record.objects.get(row?.object_key ?? '');
  const chunks: Uint8Array[] = [];
  for await (const chunk of found?.body ?? []) chunks.push(chunk);
  assert.doesNotMatch(Buffer.concat(chunks).toString('latin1'), /MARKER/);
  const read = async (part: number) => JSON.stringify(await readContent(deps, admin, claim.sessionId, part));
  assert.match(await read(0), /do MARKERkept/);
  assert.match(await read(1), /said MARKERkept.*MARKERkept xxxx/);
  const entry = await last(reviewChain('local'));
  assert.deepEqual([entry?.type, entry?.subject, entry?.body['part']], ['content.read', admin.subject, 1]);
  // another part's bytes in this one's place are refused
  const swap = (from: number, to: number) =>
    record.database.query(
      `UPDATE retained_content SET (object_key, sha256) = (SELECT object_key, sha256 FROM retained_content
         WHERE session_id = $1 AND part = $2) WHERE session_id = $1 AND part = $3`,
      [claim.sessionId, from, to],
    );
  await assert.rejects(swap(1, 0), { code: '42501' });
  await owner.query('GRANT UPDATE ON retained_content TO lemniscate_app');
  await swap(1, 0);
  await assert.rejects(read(0), { code: 'storage_failed' });
  assert.equal(await shredProject(deps, admin, 'local'), 1);
  await assert.rejects(read(0), { code: 'not_found' });
  await removeObjects(record);
  assert.equal(await record.objects.size(row?.object_key ?? ''), null);
  const keys = await record.database.query('SELECT 1 FROM content_keys WHERE wrapped IS NOT NULL');
  assert.equal(keys.length, 0);
  assert.equal((await last(reviewChain('local')))?.type, 'content.shredded');
  await isWhole(reviewChain('local'));
  await endedSession('MARKERafter');
  assert.equal(await retainContent(deps), 0, 'a shredded project retains nothing');
  assert.equal(objectKey('local', 'a').startsWith('content/'), false);
});

test('every column of the schema that could name a person is one that an erasure empties', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT c.table_name || '.' || c.column_name AS name FROM information_schema.columns c
     JOIN pg_tables t ON t.tablename = c.table_name AND t.schemaname = c.table_schema
     WHERE c.table_schema = 'public' AND c.data_type = 'text'
       AND (c.column_name ~ '_by$' OR c.column_name IN ('subject', 'caller', 'owner', 'pinned_to')) ORDER BY 1`,
  );
  // these say human or automation, or name a key
  const others = ['approvals.decided_by', 'budget_extensions.decided_by', 'tool_calls.decided_by'];
  const known = new Set([
    ...erasedPersonColumns(),
    ...otherPersonColumns,
    ...others,
    'content_keys.wrapped_by',
    // a server's name
    'server_invitations.used_by',
  ]);
  assert.ok(rows.length > 20);
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => !known.has(name)),
    [],
    'add the column to erase-person.ts',
  );
});

test('every JSON column of the schema is one that an erasure reaches, or one that names nobody', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT c.table_name || '.' || c.column_name AS name FROM information_schema.columns c
     JOIN pg_tables t ON t.tablename = c.table_name AND t.schemaname = c.table_schema
     WHERE c.table_schema = 'public' AND c.data_type IN ('json', 'jsonb') ORDER BY 1`,
  );
  const known = new Set([...erasedPersonJson(), ...namesNobody]);
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => !known.has(name)),
    [],
    'add the column to person-traces.ts, or say below why it names nobody',
  );
  const there = new Set(rows.map(({ name }) => name));
  assert.deepEqual(
    [...known].filter((name) => !there.has(name)),
    [],
  );
});
