import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import { copyLogDatabase, noDatabase } from './testing/database.ts';
import { until } from './testing/exporter-process.ts';
import { createSealingSite } from './testing/sealing-site.ts';
import type { SealingSite } from './testing/sealing-site.ts';

// A database that was restored from a backup, and what the receivers had seen of the log that was lost.

let site: SealingSite;
if (noDatabase === false) {
  before(async () => {
    site = await createSealingSite();
    // the log has a key and checkpoints before the first backup
    await seal('s_first');
  });
  after(() => site.remove());
}

const epochOf = (note: string): number => readNote(note)?.checkpoint.epoch ?? assert.fail('no note');
const memoryOf = (host: string): Promise<string> => mkdtemp(join(site.folder, `${host}-`));

/** Grows the log by a session and two checkpoints; what the receiver has then. */
async function seal(session: string): Promise<string[]> {
  const before = (await site.notesIn()).length;
  const exporter = site.start();
  await site.appendSession(session, 3);
  await until('two checkpoints', async () => (await site.notesIn()).length >= before + 2);
  await site.end(exporter, 'SIGTERM');
  return site.notesIn();
}

/** A database as it was before `session`, and the newest notes that the receiver has of the log behind it. */
async function restore(session: string) {
  const backup = await copyLogDatabase(site.database);
  const notes = await seal(session);
  return {
    backup,
    older: notes.at(-2) ?? assert.fail(),
    newest: notes.at(-1) ?? assert.fail(),
    anchor: async (note: string): Promise<Record<string, string>> => {
      const path = join(await memoryOf('anchor'), 'note');
      await writeFile(path, note);
      return { DATABASE_URL: backup.url, LEMNISCATE_LOG_RESTORED_FROM: path };
    },
  };
}

test(
  'an older anchor than the newest is refused by whoever remembers better, and found by whoever has the newest',
  { skip: noDatabase },
  async () => {
    const { backup, older, newest, anchor } = await restore('s_older');
    try {
      const told = await anchor(older);
      const place = join(site.folder, 'older.ndjson');
      const refuses = async (more: Record<string, string>): Promise<void> => {
        const exporter = site.start({ ...told, ...more });
        await until('the refusal', () => /checkpoint \d+ was signed after it/.test(exporter.log()));
        await site.end(exporter, 'SIGTERM');
      };
      // the key's keeper remembers the newest; a host that has forgotten it asks the receiver
      await refuses({ LEMNISCATE_SINK_FILE: place });
      await refuses({ LEMNISCATE_LOG_MEMORY: await memoryOf('forgetful') });

      // nobody here remembers: the operator's word stands, and the note that he did not name contradicts it
      const alone = { LEMNISCATE_SINK_FILE: place, LEMNISCATE_LOG_MEMORY: await memoryOf('alone') };
      const misled = site.start({ ...told, ...alone });
      await until('a checkpoint of the new epoch', async () =>
        (await site.notesIn(place)).some((note) => epochOf(note) > 0),
      );
      await site.end(misled, 'SIGTERM');
      const { fault, restores } = await site.verifyFile(place, [older]);
      assert.deepEqual({ fault, restores }, { fault: null, restores: 1 });
      assert.equal((await site.verifyFile(place, [newest])).fault, 'split_view');
    } finally {
      await backup.drop();
    }
  },
);

test(
  'a standby that nobody has told of the restore signs nothing alone, and goes on with the epoch when its leader is killed',
  { skip: noDatabase },
  async () => {
    const { backup, newest, anchor } = await restore('s_standby');
    try {
      const told = await anchor(newest);
      const place = join(site.folder, 'standby.ndjson');
      const untold = { DATABASE_URL: backup.url, LEMNISCATE_LOG_MEMORY: await memoryOf('standby') };
      // its receiver is the one of the log that was lost
      const alone = site.start(untold);
      await until('the refusal', () =>
        /holds checkpoint \d+, which this database does not/.test(alone.log()),
      );
      await site.end(alone, 'SIGTERM');

      const leader = site.start({ ...told, LEMNISCATE_SINK_FILE: place });
      await until('the new epoch', async () => (await site.notesIn(place)).some((note) => epochOf(note) > 0));
      const standby = site.start({ ...untold, LEMNISCATE_SINK_FILE: place });
      await until('it stands by', () => standby.log().includes('exporter is standby'));
      await site.end(leader, 'SIGKILL');
      await until('it leads', () => standby.log().includes('exporter is leading'));
      const before = (await site.notesIn(place)).length;
      await until('it signs on', async () => (await site.notesIn(place)).length > before + 1);
      await site.end(standby, 'SIGTERM');

      const notes = await site.notesIn(place);
      assert.equal(epochOf(notes.at(-1) ?? assert.fail()), epochOf(newest) + 1);
      const { fault, restores, covered, entries } = await site.verifyFile(place, [newest]);
      assert.deepEqual({ fault, restores }, { fault: null, restores: 1 });
      assert.equal(covered, entries);
    } finally {
      await backup.drop();
    }
  },
);
