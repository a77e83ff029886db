import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import { copyLogDatabase, noDatabase } from './testing/database.ts';
import { until } from './testing/exporter-process.ts';
import type { ExporterProcess } from './testing/exporter-process.ts';
import { readSinkFile } from './testing/read-sink-file.ts';
import { createSealingSite } from './testing/sealing-site.ts';
import type { SealingSite } from './testing/sealing-site.ts';

let site: SealingSite;
if (noDatabase === false) {
  before(async () => {
    site = await createSealingSite();
  });
  after(() => site.remove());
}
const file = (): string => site.file;
const keyFile = (): string => site.keyFile;
const start = (more?: Readonly<Record<string, string>>): ExporterProcess => site.start(more);
const end = (exporter: ExporterProcess, signal: NodeJS.Signals): Promise<unknown> =>
  site.end(exporter, signal);
const notesIn = (path?: string): Promise<string[]> => site.notesIn(path);
const verifyFile: SealingSite['verifyFile'] = (path, anchors) => site.verifyFile(path, anchors);
const appendSession = (id: string, calls: number): Promise<void> => site.appendSession(id, calls);

test(
  'checkpoints come also when nothing happens, numbered without gaps through kill -9, and verify with the public key',
  { skip: noDatabase },
  async () => {
    await appendSession('s_first', 700);
    const first = start();
    await until('three checkpoints', async () => (await notesIn()).length >= 3);
    await end(first, 'SIGKILL');
    for (let round = 0; round < 4; round += 1) {
      const before = (await notesIn()).length;
      const exporter = start();
      await appendSession(`s_round_${round}`, 40);
      await until('a checkpoint', async () => (await notesIn()).length > before);
      await end(exporter, 'SIGKILL');
    }
    const last = start();
    await appendSession('s_last', 3);
    await until('the entries', async () => (await readSinkFile(file())).length >= 702 + 4 * 42 + 5 + 2);
    assert.equal(await end(last, 'SIGTERM'), 0);
    // the stop seals and ships what is left
    assert.deepEqual(await verifyFile(), { fault: null, covered: 877, entries: 877, restores: 0 });
    const numbers = (await notesIn()).map((note) => readNote(note)?.checkpoint.number);
    assert.deepEqual(
      numbers,
      numbers.map((_, place) => place),
    );
  },
);

test(
  'a sealer that was frozen between commit and signature publishes no second checkpoint of its number',
  { skip: noDatabase },
  async () => {
    const two = [start(), start()];
    const count = (await notesIn()).length;
    await until('a leader', () => two.some((one) => one.log().includes('exporter is leading')));
    const leading = two.find((one) => one.log().includes('exporter is leading')) ?? assert.fail();
    await until('it seals', async () => (await notesIn()).length > count);
    leading.child.kill('SIGSTOP');
    await site.database.owner.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'lemniscate-audit-exporter' AND datname = current_database()`,
    );
    const frozenAt = (await notesIn()).length;
    await appendSession('s_frozen', 5);
    await until('the other seals', async () => (await notesIn()).length > frozenAt + 1);
    leading.child.kill('SIGCONT');
    await until('it stands by', () => /exporter is disconnected[^]*exporter is standby/.test(leading.log()));
    await Promise.all(two.map((one) => end(one, 'SIGTERM')));
    assert.equal((await verifyFile()).fault, null);
    const { rows } = await site.database.owner.query<{ n: string }>(
      'SELECT count(*) AS n FROM audit_checkpoints WHERE note IS NULL',
    );
    assert.equal(Number(rows[0]?.n), 0);
  },
);

test(
  'rows and rights: a checkpoint cannot be changed, skipped or taken back, a tile only grows',
  { skip: noDatabase },
  async () => {
    for (const statement of [
      'UPDATE audit_checkpoints SET size = size + 1 WHERE number = 1',
      `UPDATE audit_checkpoints SET note = 'other' WHERE number = 1`,
      'DELETE FROM audit_checkpoints',
      'TRUNCATE audit_tiles',
      `UPDATE audit_tiles SET hashes = sha256('')`,
      'DELETE FROM audit_log_keys',
      'UPDATE audit_dead_letters SET index = 1',
      `INSERT INTO audit_checkpoints SELECT number + 2, epoch, size, root, frontier, at FROM audit_checkpoints ORDER BY number DESC LIMIT 1`,
      `INSERT INTO audit_checkpoints SELECT number + 1, epoch, size - 1, root, frontier, at FROM audit_checkpoints ORDER BY number DESC LIMIT 1`,
    ])
      await assert.rejects(
        site.database.owner.query(statement),
        (error: { code?: string }) =>
          ['42501', '23000'].includes(error.code ?? '') || statement.includes('dead_letters'),
        statement,
      );
  },
);

test('the key is handed over by an entry that both keys sign', { skip: noDatabase }, async () => {
  const next = join(site.folder, 'next-key.pem');
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(next, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const rotating = start({ LEMNISCATE_LOG_KEY_NEXT: next });
  await until('the entry', async () =>
    (await readSinkFile(file())).some(({ type }) => type === 'log.key_rotated'),
  );
  await appendSession('s_rotated', 3);
  await end(rotating, 'SIGTERM');
  const before = await verifyFile();
  assert.equal(before.fault, null);
  assert.equal(before.covered, before.entries);
  // the new key alone goes on; the old one alone is refused
  const old = start();
  await until('the refusal', () => old.log().includes('whose private key is not at'));
  await end(old, 'SIGTERM');
  await copyFile(next, keyFile());
  const settled = start();
  await appendSession('s_settled', 3);
  await until('the entries', async () => (await readSinkFile(file())).length >= before.entries + 6);
  await end(settled, 'SIGTERM');
  const after = await verifyFile();
  // five of the session, and one that tells of the variable that is gone
  assert.deepEqual(after, {
    fault: null,
    covered: before.entries + 6,
    entries: before.entries + 6,
    restores: 0,
  });
});

test(
  'a database that was set back is refused; told that it was restored, it begins an epoch whose entry cites the anchor',
  { skip: noDatabase },
  async () => {
    const backup = await copyLogDatabase(site.database);
    try {
      const size = (await readSinkFile(file())).length;
      const going = start();
      await appendSession('s_lost', 3);
      await until('the entries', async () => (await readSinkFile(file())).length >= size + 5);
      await end(going, 'SIGTERM');
      const anchorFile = join(site.folder, 'anchor.note');
      const anchor = (await notesIn()).at(-1) ?? assert.fail();
      await writeFile(anchorFile, anchor);

      const other = { DATABASE_URL: backup.url, LEMNISCATE_SINK_FILE: join(site.folder, 'restored.ndjson') };
      const refused = start(other);
      await until('the refusal', () => /Checkpoint \d+ is refused/.test(refused.log()));
      await end(refused, 'SIGTERM');
      const restored = start({ ...other, LEMNISCATE_LOG_RESTORED_FROM: anchorFile });
      const place = other.LEMNISCATE_SINK_FILE;
      await until('the entry', async () =>
        (await readSinkFile(place)).some(({ type }) => type === 'log.restored'),
      );
      await end(restored, 'SIGTERM');
      // held against everything that the first sink had: what is gone is gone by the log's own words
      const { fault, restores } = await verifyFile(place, await notesIn());
      assert.deepEqual({ fault, restores }, { fault: null, restores: 1 });
      const last = readNote((await notesIn(place)).at(-1) ?? '')?.checkpoint;
      assert.equal(last?.epoch, 1);
      assert.ok(last.number > (readNote(anchor)?.checkpoint.number ?? Infinity));
    } finally {
      await backup.drop();
    }
  },
);
