import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import type { IndexedEntry, SinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { createGrowingFile } from './growing-file.ts';
import type { GrowingFile } from './growing-file.ts';

/** Digits of an index in a file's name, so that names sort as indexes do. */
const digits = 15;
const shape = { schema: sinkLineSchema, beginning: '{"index":' };

/** Files of entries that take turns. */
export interface RotatedFiles {
  /** Makes ready, also after a failure. @returns the last whole line of all files */
  open(): Promise<SinkLine | null>;
  write(batch: readonly IndexedEntry[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Writes entries into files of so many each: `PLACE.FIRSTINDEX`. Which file an entry belongs to follows from its index
 * alone, so two exporters never disagree and nothing is ever renamed: a rename by one that was frozen could put its
 * successor's file in the place of another. Files that are full may be moved away at any time.
 */
export function createRotatedFiles(place: string, perFile: number): RotatedFiles {
  let isOpen = false;
  let current: { readonly first: number; readonly file: GrowingFile<SinkLine> } | null = null;
  const pathOf = (first: number): string => `${place}.${String(first).padStart(digits, '0')}`;
  const close = async (): Promise<void> => {
    const open = current;
    current = null;
    await open?.file.close();
  };
  const turnTo = async (first: number): Promise<{ file: GrowingFile<SinkLine>; last: SinkLine | null }> => {
    await close();
    const file = createGrowingFile(pathOf(first), shape);
    const last = await file.open();
    current = { first, file };
    return { file, last };
  };
  return {
    open: async () => {
      await close();
      isOpen = true;
      // a file that was begun and has no whole line yet says nothing; the one before does
      for (const first of (await listFirsts(place)).toReversed().slice(0, 2)) {
        const { last } = await turnTo(first);
        if (last !== null) return last;
      }
      return null;
    },
    write: async (batch) => {
      if (!isOpen) throw new CodedError('internal', `The file sink ${place} is not open.`);
      for (let from = 0; from < batch.length;) {
        const first = Math.floor((batch[from]?.index ?? 0) / perFile) * perFile;
        const end = batch.findIndex(({ index }, at) => at >= from && index >= first + perFile);
        const part = batch.slice(from, end === -1 ? undefined : end);
        if (current?.first === first) await current.file.write(part.map(toSinkLine).join(''));
        else {
          const { file, last } = await turnTo(first);
          // whoever took over while this exporter was frozen has filled the file already
          const fresh = part.filter(({ index }) => last === null || index > last.index);
          await file.write(fresh.map(toSinkLine).join(''));
        }
        from += part.length;
      }
    },
    close: () => {
      isOpen = false;
      return close();
    },
  };
}

async function listFirsts(place: string): Promise<number[]> {
  const name = basename(place);
  const entries = await readdir(dirname(place)).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.startsWith(`${name}.`))
    .map((entry) => entry.slice(name.length + 1))
    .filter((rest) => rest.length === digits && /^\d+$/.test(rest))
    .map(Number)
    .toSorted((one, other) => one - other);
}
