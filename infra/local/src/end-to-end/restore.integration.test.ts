import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import { startFleet } from '../fleet.ts';
import type { Fleet } from '../fleet.ts';
import { projectRoot } from '../project-root.ts';
import { until } from '../testing/until.ts';
import { runSession, sampleRepository } from './test-fleet.ts';
import type { FollowedSession, TestFleet } from './test-fleet.ts';

// The drill of docs/operations/backup-and-restore.md: PostgreSQL is set back to an earlier point, Redis is empty, the
// object store is as it was.

test('after a restore the fleet is consistent, says so in a new epoch, and works on', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-restore-'));
  chmodSync(scratch, 0o755);
  const data = join(scratch, 'data');
  const { ANTHROPIC_API_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const environment = {
    ...inherited,
    LEMNISCATE_DATA: data,
    LEMNISCATE_CHECKPOINT_SECONDS: '1',
    LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
  };
  let running: Fleet | null = null;
  t.after(async () => {
    await running?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });
  const start = async (extra: Readonly<Record<string, string>> = {}): Promise<TestFleet> => {
    const fleet = await startFleet({
      projectRoot,
      environment: { ...environment, ...extra },
      say: () => undefined,
    });
    running = fleet;
    const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
    const client = createApiClient({ url: fleet.apiUrl, token });
    return { fleet, client, scratch, environment, stop: fleet.stop };
  };
  const sinkFile = join(data, 'audit/entries.ndjson');
  const shipped = (id: string): boolean =>
    readFileSync(sinkFile, 'utf8').split(`"chain":"session:${id}"`).at(-1)?.includes('chain.closed') === true;
  const folder = sampleRepository(scratch, 'sample');
  const work = async (site: TestFleet): Promise<FollowedSession> => {
    const done = await runSession(site, { repositoryFolder: folder, instruction: 'Fix the failing test.' });
    assert.equal(done.session.state, 'completed', done.session.message ?? '');
    await until('its entries are shipped', () => shipped(done.session.id), 20_000);
    return done;
  };

  let site = await start();
  const kept = await work(site);
  assert.match(kept.patch, /^diff --git/m);
  await site.stop();
  cpSync(join(data, 'postgres'), join(scratch, 'backup'), { recursive: true, preserveTimestamps: true });

  site = await start();
  const lost = await work(site);
  await site.stop();

  // The disaster and the restore.
  rmSync(join(data, 'postgres'), { recursive: true });
  execFileSync('cp', ['-a', join(scratch, 'backup'), join(data, 'postgres')]);
  execFileSync('chown', ['-R', '--reference', join(data, 's3'), join(data, 'postgres')]);
  rmSync(join(data, 'redis'), { recursive: true });
  renameSync(join(data, 'audit'), join(data, 'audit-before'));
  const last = join(data, 'secrets/audit-log-key.pem.last');

  // a receiver at a new place gets the log of the restored database from its beginning
  const anew = join(data, 'audit-after.ndjson');
  const sinks = join(scratch, 'sinks.json');
  writeFileSync(sinks, JSON.stringify({ sinks: [{ kind: 'file', path: anew }] }));

  site = await start({ LEMNISCATE_LOG_RESTORED_FROM: last, LEMNISCATE_SINKS: sinks });
  const again = await work(site);
  assert.ok(again.audit.verified);
  await until(
    'the new receiver has everything',
    () => readFileSync(anew, 'utf8').includes(again.session.id),
    20_000,
  );
  const entries = readFileSync(anew, 'utf8');
  assert.ok(entries.includes('"type":"log.restored"'), 'no new epoch was opened');
  // what the record holds is whole: the kept session, its diff and its chain, and no word of the lost one
  assert.equal((await readPatch(site.client, kept.session.id)).length, Buffer.byteLength(kept.patch));
  assert.ok(!entries.includes(lost.session.id));
  const record = new Client({ connectionString: site.fleet.stores.databaseUrl });
  await record.connect();
  // every object that a row of the record names is in the store: deletion there waits longer than backups reach back
  const { rows } = await record.query<{ project_id: string; sha256: string }>(
    `SELECT project_id, sha256 FROM uploads WHERE state = 'stored'`,
  );
  await record.end();
  assert.ok(rows.length > 0);
  const s3 = site.fleet.stores.s3;
  for (const { project_id: project, sha256 } of rows) {
    const found = execFileSync('grep', ['-rl', sha256, join(data, 's3')], { encoding: 'utf8' });
    assert.notEqual(found, '', `${s3.endpoint} has no object ${project}/${sha256}`);
  }
  const bin = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const verify = execFileSync(
    process.execPath,
    [bin, 'audit', 'verify', '--json', '--file', anew, '--key', join(data, 'secrets/audit-log-key.pem.pub')],
    { env: { LEMNISCATE_DATA: data }, encoding: 'utf8' },
  );
  assert.equal((JSON.parse(verify) as { verified: boolean }).verified, true);
});
