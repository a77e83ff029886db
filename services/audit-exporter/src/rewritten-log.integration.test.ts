import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { createTreeHasher, leafHash } from '@lemniscate/shared/audit/merkle.ts';
import { closed, createLogDatabase, executed, noDatabase, opened } from './testing/database.ts';
import type { LogDatabase } from './testing/database.ts';
import { startExporterProcess, until } from './testing/exporter-process.ts';
import type { ExporterProcess } from './testing/exporter-process.ts';

// What the owner of the database can do who has not the key: every row is his, triggers too. The signer must sign none of it.

let database: LogDatabase;
let folder: string;
const running = new Set<ExporterProcess>();
if (noDatabase === false) {
  before(async () => {
    database = await createLogDatabase();
    await database.owner.query('ALTER TABLE audit_entries DISABLE TRIGGER append_only');
    for (const trigger of ['append_only', 'step'])
      await database.owner.query(`ALTER TABLE audit_checkpoints DISABLE TRIGGER ${trigger}`);
    folder = await mkdtemp(join(tmpdir(), 'rewritten-'));
  });
  after(async () => {
    await Promise.all([...running].map((exporter) => exporter.end('SIGKILL')));
    await rm(folder, { recursive: true });
    await database.drop();
  });
}

const memory = (): string => join(folder, 'log-key.pem.last');

async function signing<Result>(work: (exporter: ExporterProcess) => Promise<Result>): Promise<Result> {
  const exporter = startExporterProcess({
    DATABASE_URL: database.url,
    LEMNISCATE_SINK_FILE: join(folder, 'audit.ndjson'),
    LEMNISCATE_LOG_KEY: join(folder, 'log-key.pem'),
    LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
  });
  running.add(exporter);
  try {
    return await work(exporter);
  } finally {
    running.delete(exporter);
    await exporter.end('SIGTERM');
  }
}

const numberOf = async (condition: string): Promise<number> => {
  const { rows } = await database.owner.query<{ number: string | null }>(
    `SELECT max(number) AS number FROM audit_checkpoints WHERE ${condition}`,
  );
  return Number(rows[0]?.number ?? -1);
};
const signedNow = (): Promise<number> => numberOf('note IS NOT NULL');
const more = (): Promise<void> => database.append(sessionChain(`s_${Math.random()}`), [opened, closed]);

/** Signs on: so the log is as it was, and what was refused has left nothing behind. */
async function signsOn(): Promise<void> {
  const last = await signedNow();
  await more();
  await signing(() => until('the next checkpoints', async () => (await signedNow()) > last + 1));
}

const forge = async (statement: string, values: readonly unknown[] = []): Promise<void> => {
  await database.owner.query(statement, [...values]);
};

/** The first entry with another digest, and the last checkpoint's row as if it had always been so. */
async function rewrite(isFrontierToo: boolean): Promise<() => Promise<void>> {
  const { rows } = await database.owner.query<{ chain: string; seq: string; digest: Buffer }>(
    'SELECT chain, seq, digest FROM audit_log JOIN audit_entries USING (chain, seq) ORDER BY index',
  );
  const [first] = rows;
  assert.ok(first !== undefined);
  const last = await database.owner.query<{
    number: string;
    size: string;
    root: Buffer;
    frontier: Buffer;
  }>('SELECT number, size, root, frontier FROM audit_checkpoints ORDER BY number DESC LIMIT 1');
  const sealed = last.rows[0] ?? assert.fail('no checkpoint');
  const other = Buffer.alloc(32, 7);
  const hasher = createTreeHasher();
  for (const { digest } of [{ digest: other }, ...rows.slice(1)].slice(0, Number(sealed.size)))
    hasher.push(leafHash(digest));
  const setDigest = 'UPDATE audit_entries SET digest = $3 WHERE chain = $1 AND seq = $2';
  const setRow = 'UPDATE audit_checkpoints SET root = $2, frontier = $3 WHERE number = $1';
  await forge(setDigest, [first.chain, first.seq, other]);
  if (isFrontierToo)
    await forge(setRow, [sealed.number, hasher.root(), Buffer.concat(hasher.frontier().hashes)]);
  return async () => {
    await forge(setDigest, [first.chain, first.seq, first.digest]);
    await forge(setRow, [sealed.number, sealed.root, sealed.frontier]);
  };
}

async function isRefused(): Promise<void> {
  const before = [await signedNow(), await numberOf('true')];
  await more();
  await signing((exporter) =>
    until(
      'the refusal',
      () =>
        /"code":"audit_chain_broken"/.test(exporter.log()) &&
        /Checkpoint \d+ is refused/.test(exporter.log()),
    ),
  );
  assert.deepEqual([await signedNow(), await numberOf('true')], before, 'neither signed nor written');
}

test(
  'a log that was rewritten together with its frontier gets no signature',
  { skip: noDatabase },
  async () => {
    await database.append(sessionChain('s_first'), [opened, executed(1), executed(2), closed]);
    await signsOn();
    const undo = await rewrite(true);
    await isRefused();
    await undo();
    await signsOn();
  },
);

test(
  'nor on a host that remembers nothing: the last row must say what was signed, and the entries have its root',
  { skip: noDatabase },
  async () => {
    for (const isFrontierToo of [true, false]) {
      const undo = await rewrite(isFrontierToo);
      await rm(memory());
      await isRefused();
      await undo();
      await signsOn();
    }
  },
);

test('a new epoch that no operator has told of gets no signature', { skip: noDatabase }, async () => {
  await forge(
    `INSERT INTO audit_checkpoints SELECT number + 1, epoch + 1, size, root, frontier, at FROM audit_checkpoints
     ORDER BY number DESC LIMIT 1`,
  );
  await isRefused();
  await forge('DELETE FROM audit_checkpoints WHERE epoch > 0');
  await signsOn();
});

test('the memory of an earlier version, a bare note, is gone on from', { skip: noDatabase }, async () => {
  const { note } = checkpointLineSchema.parse(JSON.parse(await readFile(memory(), 'utf8')));
  assert.notEqual(readNote(note), null);
  await writeFile(memory(), note);
  const undo = await rewrite(true);
  await isRefused();
  await undo();
  await signsOn();
  // a memory that says nothing is no reason to sign anything
  const kept = await readFile(memory(), 'utf8');
  await writeFile(memory(), 'nothing');
  await signing((exporter) =>
    until('the refusal', () => exporter.log().includes('does not hold the last checkpoint')),
  );
  await writeFile(memory(), kept);
  await signsOn();
});

test(
  'a host that remembers nothing asks the receivers that can tell, and signs no number again',
  { skip: noDatabase },
  async () => {
    await signsOn();
    const last = await signedNow();
    const told = async (): Promise<number> => {
      const text = await readFile(join(folder, 'audit.ndjson.checkpoints'), 'utf8');
      const line = text.split('\n').slice(0, -1).at(-1) ?? assert.fail('no checkpoint');
      return checkpointLineSchema.parse(JSON.parse(line)).number;
    };
    await signing(() => until('the receiver has it', async () => (await told()) >= last));
    // the database as it was two checkpoints ago
    const { rows } = await database.owner.query<Record<string, unknown>>(
      'DELETE FROM audit_checkpoints WHERE number > $1 RETURNING number',
      [(await told()) - 2],
    );
    assert.ok(rows.length >= 2);
    await rm(memory());
    const before = await signedNow();
    await signing((exporter) =>
      until('the refusal', () => /holds checkpoint \d+, which this database does not/.test(exporter.log())),
    );
    assert.equal(await signedNow(), before);
  },
);

test(
  'the keeper’s memory lies where it is told to, and the key’s folder is left alone',
  { skip: noDatabase },
  async () => {
    const other = await createLogDatabase();
    const [keys, state] = [await mkdtemp(join(tmpdir(), 'keys-')), await mkdtemp(join(tmpdir(), 'state-'))];
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(join(keys, 'log-key.pem'), String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
    const exporter = startExporterProcess({
      DATABASE_URL: other.url,
      LEMNISCATE_LOG_KEY: join(keys, 'log-key.pem'),
      LEMNISCATE_LOG_MEMORY: state,
      LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
    });
    running.add(exporter);
    try {
      await until('a signed checkpoint', async () => (await readdir(state)).includes('log-key.pem.last'));
      assert.ok((await readdir(state)).includes('log-key.pem.pub'));
      assert.deepEqual(await readdir(keys), ['log-key.pem']);
    } finally {
      running.delete(exporter);
      await exporter.end('SIGTERM');
      await rm(keys, { recursive: true });
      await rm(state, { recursive: true });
      await other.drop();
    }
  },
);
