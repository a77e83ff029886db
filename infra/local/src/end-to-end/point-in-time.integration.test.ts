import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Client } from 'pg';
import { z } from 'zod';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import { objectKey } from '@lemniscate/dispatcher/application/ports/object-store.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { startFleet } from '../fleet.ts';
import type { Fleet } from '../fleet.ts';
import { projectRoot } from '../project-root.ts';
import { openDebianPostgres, serverPrograms } from '../testing/debian-postgres.ts';
import { until } from '../testing/until.ts';
import {
  assertNothingRuns,
  followToEnd,
  makeRepository,
  runSession,
  sampleRepository,
} from './test-fleet.ts';
import type { FollowedSession, TestFleet } from './test-fleet.ts';

// The commands of docs/operations/backup-and-restore.md on a real PostgreSQL: a base backup while the fleet works, archived
// WAL, and a recovery to a moment between two sessions that only the WAL knows. Redis is empty, the object store as it was.

const noPostgres =
  serverPrograms() === undefined && "debian-postgres: Debian's PostgreSQL cannot be had on this machine";

const [archive = '', backup = '', restore = '', ...others] = [
  ...readFileSync(join(projectRoot, 'docs/operations/backup-and-restore.md'), 'utf8').matchAll(
    /```sh restore\n([\s\S]*?)```/g,
  ),
].map(([, commands = '']) => commands);

const policy = `
tools: {read_file: allow, list_files: allow, write_file: allow, edit_file: allow, run_command: allow}
freeCommands: [sleep, 'true']
`;

/** Every object that the record names, from all of its manifests: uploads, diffs, checkpoints, files, environments. */
const namedObjects = `
  SELECT project_id, sha256 FROM uploads WHERE state = 'stored'
  UNION SELECT s.project_id, d.object_sha256 FROM diffs d JOIN sessions s ON s.id = d.session_id
  UNION SELECT s.project_id, unnest(ARRAY[c.transcript_sha256, c.archive_sha256, c.diff_object_sha256])
    FROM checkpoints c JOIN sessions s ON s.id = c.session_id
  UNION SELECT s.project_id, f.sha256 FROM session_files f JOIN sessions s ON s.id = f.session_id
  UNION SELECT project_id, archive_sha256 FROM environments WHERE state = 'ready'`;

/** Asks the store for each of them and reckons its digest. @returns how many there are */
async function everyObjectIsThere({ fleet }: TestFleet): Promise<number> {
  const { endpoint, accessKeyId, secretAccessKey, region } = fleet.stores.s3;
  const credentials = { accessKeyId, secretAccessKey };
  const store = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const record = new Client({ connectionString: fleet.stores.databaseUrl });
  await record.connect();
  try {
    const { rows } = await record.query<{ project_id: string; sha256: string }>(
      `SELECT * FROM (${namedObjects}) AS named (project_id, sha256) WHERE sha256 IS NOT NULL`,
    );
    for (const { project_id, sha256 } of rows) {
      const object = new GetObjectCommand({ Bucket: 'lemniscate', Key: objectKey(project_id, sha256) });
      const { Body } = await store.send(object);
      const bytes = (await Body?.transformToByteArray()) ?? assert.fail(sha256);
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
    }
    return rows.length;
  } finally {
    await record.end();
    store.destroy();
  }
}

test(
  'PostgreSQL is set back to a moment by base backup and WAL; the fleet is consistent in a new epoch and works on',
  { skip: noPostgres },
  async () => {
    assert.deepEqual(others, [], 'every block is run here');
    // undone in reverse: a fleet goes before its database, and both before their folder
    await using parts = new AsyncDisposableStack();
    const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-point-'));
    parts.defer(() => rmSync(scratch, { recursive: true, force: true }));
    chmodSync(scratch, 0o755);
    const postgres = await openDebianPostgres(parts, join(scratch, 'postgres'));
    const start = fleetsOf(parts, scratch, postgres.url);
    const sinkFile = join(scratch, 'data/audit/entries.ndjson');
    const shipped = (id: string, file: string): boolean =>
      readFileSync(file, 'utf8').split(`"chain":"session:${id}"`).at(-1)?.includes('chain.closed') === true;
    const folder = sampleRepository(scratch, 'sample');
    const work = async (site: TestFleet, file: string): Promise<FollowedSession> => {
      const done = await runSession(site, { repositoryFolder: folder });
      assert.equal(done.session.state, 'completed', done.session.message ?? '');
      await until('its entries are shipped', () => shipped(done.session.id, file), 20_000);
      return done;
    };

    await postgres.run(archive);
    let site = await start();
    const before = await work(site, sinkFile);
    await postgres.run(backup);

    // from here on only the WAL knows
    const kept = await work(site, sinkFile);
    assert.match(kept.patch, /^diff --git/m);
    await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'lab', policy } });
    const plain = makeRepository(scratch, 'plain', { 'main.py': 'print("hello")\n' });
    const paused = await pausedSession(site, plain);
    const point = await postgres.ask('SELECT now()');
    const lost = await work(site, sinkFile);
    await site.stop();
    const written = await postgres.ask('SELECT pg_walfile_name(pg_switch_wal())');
    await until(
      'the last of the WAL is archived',
      async () =>
        (await postgres.ask(`SELECT last_archived_wal >= '${written}' FROM pg_stat_archiver`)) === 't',
      90_000,
    );

    await postgres.crash();
    rmSync(join(scratch, 'data/redis'), { recursive: true });
    renameSync(join(scratch, 'data/audit'), join(scratch, 'audit-before'));
    await postgres.run(restore, { POINT: point });

    // a receiver at a new place gets the log of the restored database from its beginning
    const anew = join(scratch, 'audit-after.ndjson');
    const sinks = join(scratch, 'sinks.json');
    writeFileSync(sinks, JSON.stringify({ sinks: [{ kind: 'file', path: anew }] }));
    const last = join(scratch, 'data/secrets/audit-log-key.pem.last');
    site = await start({ LEMNISCATE_LOG_RESTORED_FROM: last, LEMNISCATE_SINKS: sinks });
    for (const { session, patch } of [before, kept])
      assert.equal(Buffer.from(await readPatch(site.client, session.id)).toString('utf8'), patch);
    await assert.rejects(
      site.client.json(`/v1/sessions/${lost.session.id}`, sessionViewSchema),
      /no session/i,
    );
    assert.ok((await everyObjectIsThere(site)) >= 5);

    const resumed = `/v1/sessions/${paused}/resume`;
    await site.client.json(resumed, sessionViewSchema, { method: 'POST', body: {} });
    const { session: ended } = await followToEnd(site, paused);
    assert.deepEqual([ended.state, ended.attempt], ['completed', 2], ended.message ?? '');
    assert.equal((await verifySessionChain(site.client, paused)).fault, null);
    const again = await work(site, anew);
    assert.ok(again.audit.verified);
    const entries = readFileSync(anew, 'utf8');
    const epochs = entries.split('\n').filter((line) => line.includes('"type":"log.restored"'));
    assert.equal(epochs.length, 1, `one new epoch was opened: ${epochs.join('\n')}`);
    assert.ok(!entries.includes(lost.session.id));
    await site.stop();
    await assertNothingRuns(join(scratch, 'data'));
  },
);

/** Pauses a session in the middle of a command. @returns its id */
async function pausedSession({ client }: TestFleet, repositoryFolder: string): Promise<string> {
  const signal = AbortSignal.timeout(2 * 60_000);
  const request = { instruction: 'run `sleep 600`', project: 'lab', execution: 'server' } as const;
  const { session } = await openSession(client, { ...request, repositoryFolder }, signal);
  const following = { sessionId: session.id, after: 0, signal, patienceMs: 60_000 };
  for await (const { event } of followSession(client, following)) {
    if (event.type === 'tool_call' && event.state === 'calling')
      await client.json(`/v1/sessions/${session.id}/pause`, sessionViewSchema, { method: 'POST', body: {} });
    if (event.type === 'state' && event.state === 'paused') return session.id;
  }
  throw new Error('the session ended before it was paused');
}

/** Starts fleets one after the other on the same folder and database; what runs at the end of the test is stopped. */
function fleetsOf(
  parts: AsyncDisposableStack,
  scratch: string,
  databaseUrl: string,
): (extra?: Readonly<Record<string, string>>) => Promise<TestFleet> {
  const { ANTHROPIC_API_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const environment = {
    ...inherited,
    DATABASE_URL: databaseUrl,
    LEMNISCATE_DATA: join(scratch, 'data'),
    LEMNISCATE_CHECKPOINT_SECONDS: '1',
    LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
  };
  let running: Fleet | null = null;
  parts.defer(() => running?.stop());
  return async (extra = {}) => {
    const settings = { ...environment, ...extra };
    const fleet = await startFleet({ projectRoot, environment: settings, say: () => undefined });
    running = fleet;
    const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
    const client = createApiClient({ url: fleet.apiUrl, token });
    return { fleet, client, scratch, environment: settings, stop: fleet.stop };
  };
}
