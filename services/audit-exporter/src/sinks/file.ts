import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { checkpointLineSchema, toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import type { Sink } from '../application/ports/sink.ts';
import { createGrowingFile } from './growing-file.ts';
import { createRotatedFiles } from './rotated-files.ts';
import type { RotatedFiles } from './rotated-files.ts';
import { peopleToldIn } from './known-people.ts';
import { createPeopleFile } from './people-file.ts';

/**
 * One entry a line; the checkpoints, one a line, in a file beside it that is named `….checkpoints`, and who the
 * pseudonyms are in `….people`.
 * @param entriesPerFile rotates: entries go to `PATH.FIRSTINDEX`, so many each
 */
export function createFileSink(path: string, entriesPerFile?: number): Sink {
  const place = resolve(path);
  const entries =
    entriesPerFile === undefined ? createOneFile(place) : createRotatedFiles(place, entriesPerFile);
  const checkpoints = createGrowingFile(`${place}.checkpoints`, {
    schema: checkpointLineSchema,
    beginning: '{"number":',
  });
  const people = createPeopleFile(`${place}.people`);
  let lastCheckpoint = -1;

  return {
    name: `file:${place}`,
    resends: false,
    open: async () => {
      const last = await entries.open();
      await people.open();
      lastCheckpoint = (await checkpoints.open())?.number ?? -1;
      return last === null ? null : { index: last.index, digest: last.digest };
    },
    deliver: async (batch) => {
      // first: what the file of entries has is not delivered again after a crash
      await people.learn(peopleToldIn(batch));
      await entries.write(batch);
      return [];
    },
    anchor: async (signed) => {
      // after a crash between sync and cursor they come again
      const fresh = signed.filter(({ number }) => number > lastCheckpoint);
      await checkpoints.write(fresh.map(toCheckpointLine).join(''));
      lastCheckpoint = fresh.at(-1)?.number ?? lastCheckpoint;
    },
    witness: () => lastLineOf(`${place}.checkpoints`),
    close: async () => {
      await entries.close();
      await checkpoints.close();
    },
  };
}

/** The last whole line; null where there is none. */
async function lastLineOf(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').slice(0, -1).at(-1) ?? null;
}

function createOneFile(place: string): RotatedFiles {
  const file = createGrowingFile(place, { schema: sinkLineSchema, beginning: '{"index":' });
  return { ...file, write: (batch) => file.write(batch.map(toSinkLine).join('')) };
}
