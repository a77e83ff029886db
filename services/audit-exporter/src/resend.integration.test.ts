import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkpointText, composeNote, logKey, readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { closed, createLogDatabase, executed, noDatabase, opened } from './testing/database.ts';
import { startExporterProcess, until } from './testing/exporter-process.ts';
import { startFaultReceiver } from './testing/fault-receiver.ts';
import { ocsfProtocol } from './testing/protocols.ts';
import { countLines } from './testing/read-sink-file.ts';

const entries = 600;

test(
  'a receiver begins behind an anchor, gets what lies before it when asked to, and a range once more',
  { skip: noDatabase },
  async (t) => {
    const [database, folder] = [await createLogDatabase(), await mkdtemp(join(tmpdir(), 'resend-'))];
    const [late, foreign] = [await startFaultReceiver(ocsfProtocol), await startFaultReceiver(ocsfProtocol)];
    const running: ReturnType<typeof startExporterProcess>[] = [];
    t.after(async () => {
      await Promise.all(running.map((exporter) => exporter.end('SIGKILL')));
      await Promise.all([late, foreign].map((receiver) => receiver.close()));
      await rm(folder, { recursive: true });
      await database.drop();
    });
    const chain = sessionChain('s_resend');
    const calls = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, call) => executed(from + call));
    const file = join(folder, 'audit.ndjson');
    const environment = {
      DATABASE_URL: database.url,
      LEMNISCATE_LOG_KEY: join(folder, 'key.pem'),
      LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
      LEMNISCATE_SINK_FILE: file,
    };
    await database.append(chain, [opened, ...calls(0, 399)]);
    const before = startExporterProcess(environment);
    const sealed = async (): Promise<boolean> =>
      (await readFile(`${file}.checkpoints`, 'utf8').catch(() => '')).includes('"size":402');
    await until('a checkpoint of 400 entries and two of the log', sealed);
    await before.end('SIGTERM');
    const anchor = join(folder, 'anchor');
    await writeFile(anchor, await readFile(`${file}.checkpoints`, 'utf8'));
    const other = join(folder, 'other');
    await writeFile(other, (await readFile(anchor, 'utf8')).replaceAll('\\n402\\n', '\\n399\\n'));

    // signed by the log's key, and of another history: as before a restore
    const lost = join(folder, 'lost');
    const last = checkpointLineSchema.parse(
      JSON.parse((await readFile(anchor, 'utf8')).trimEnd().split('\n').at(-1) ?? ''),
    );
    const { checkpoint } = readNote(last.note) ?? assert.fail('no note');
    const text = checkpointText({ ...checkpoint, root: Buffer.alloc(32, 7) });
    const secret = createPrivateKey(await readFile(environment.LEMNISCATE_LOG_KEY, 'utf8'));
    const key = logKey(checkpoint.origin, createPublicKey(secret));
    await writeFile(lost, composeNote(text, key, sign(null, Buffer.from(text), secret)));

    const sinks = join(folder, 'sinks.yaml');
    await writeFile(
      sinks,
      `sinks:
  - { kind: ocsf, url: '${late.url}', from: { anchor: ${anchor} } }
  - { kind: ocsf, url: '${foreign.url}', from: { anchor: ${other} } }
  - { kind: ocsf, url: '${foreign.url}/lost', from: { anchor: ${lost} } }
`,
    );
    await database.append(chain, [...calls(399, entries - 2), closed]);
    const exporter = startExporterProcess({ ...environment, LEMNISCATE_SINKS: sinks });
    running.push(exporter);
    const seqs = (): number[] =>
      late
        .received()
        .filter((id) => id.startsWith('session:'))
        .map((id) => Number(id.split(':')[2]));
    await until('what came behind the anchor', () => seqs().length === entries - 400);
    assert.deepEqual(seqs().slice(0, 3), [401, 402, 403]);
    await until('the forged anchor is refused', () =>
      exporter.log().includes('is no checkpoint that a key of this log has signed'),
    );
    await until('the anchor of another history is refused', () =>
      exporter.log().includes('of another history than this database has'),
    );
    assert.deepEqual(foreign.received(), []);

    const ask = (id: string, sink: string, from: number, to: number) =>
      database.owner.query(
        'INSERT INTO audit_resends (id, sink, from_index, to_index, next_index) VALUES ($1, $2, $3, $4, $3)',
        [id, sink, from, to],
      );
    const { rows: places } = await database.owner.query<{ index: string }>(
      'SELECT index FROM audit_log WHERE chain = $1 AND seq = 591',
      [chain],
    );
    const place = Number(places[0]?.index);
    await ask('resend_1', `ocsf:${late.url}`, 0, 402);
    await ask('resend_2', `ocsf:${late.url}`, place, place + 5);
    await ask('resend_3', `file:${file}`, 0, 10);
    const done = async () => {
      const { rows } = await database.owner.query<{ id: string; next_index: string; refused: string | null }>(
        'SELECT id, next_index, refused FROM audit_resends WHERE done_at IS NOT NULL ORDER BY id',
      );
      return rows;
    };
    await until('all three are done', async () => (await done()).length === 3);
    const [first, second, third] = await done();
    assert.deepEqual(
      [first?.next_index, second?.next_index, first?.refused],
      ['402', String(place + 5), null],
    );
    assert.match(third?.refused ?? '', /by their place/);
    // back-filled in order, and the range once more under the same ids
    assert.deepEqual(
      seqs().slice(entries - 400, entries),
      Array.from({ length: 400 }, (_, place) => place + 1),
    );
    assert.deepEqual(seqs().slice(entries), [591, 592, 593, 594, 595]);
    assert.equal(new Set(late.received().filter((id) => id.startsWith('session:'))).size, entries);
    // and three of the log's own: its opening, and two settings
    await until('the file has the whole log', async () => (await countLines(file)) === entries + 3);
    const cursor = async (): Promise<string | undefined> => {
      const { rows } = await database.owner.query<{ next_index: string }>(
        'SELECT next_index FROM audit_sinks WHERE name = $1',
        [`ocsf:${late.url}`],
      );
      return rows[0]?.next_index;
    };
    await until('the cursor is behind all of it', async () => (await cursor()) === String(entries + 3));
  },
);
