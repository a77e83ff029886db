import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ChainFault } from '@lemniscate/shared/audit/verify.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { checkManifests, isBucketCopy, notesOf, peopleOf, segmentsOf } from './audit-bucket.ts';
import { readNotes } from './audit-checkpoints.ts';
import { readPeopleFile } from './audit-people.ts';

/** What an exporter wrote, wherever it lies: nothing of it is believed. */
export interface AuditExport {
  /** Lines of entries in the order of the log; a last one without its line feed is an export in progress. */
  lines(): AsyncGenerator<string>;
  /** Signed notes of the checkpoints from a number on. */
  notes(from: number): Promise<string[]>;
  people(): Promise<Record<string, string>>;
  /** What is wrong with the files themselves, before a line is read. */
  check(): Promise<ChainFault | null>;
}

/** No entry's line is longer: 64 KiB as base64 and escaped. */
const longestLine = 1024 * 1024;

/** A sink's file, the files that it was rotated into, or a copy of a bucket. */
export async function openExport(path: string): Promise<AuditExport> {
  if (await isBucketCopy(path))
    return {
      lines: () => linesOfSegments(path),
      notes: (from) => notesOf(path, from),
      people: () => peopleOf(path),
      check: () => checkManifests(path),
    };
  return {
    lines: () => linesOfFile(path),
    notes: (from) => readNotes(`${path}.checkpoints`, from),
    people: () => readPeopleFile(`${path}.people`),
    check: () => Promise.resolve(null),
  };
}

/** Two exporters may have cut the log at different places: what came already is left out, by its index. */
async function* linesOfSegments(copy: string): AsyncGenerator<string> {
  let next = 0;
  for (const file of await segmentsOf(copy))
    for await (const line of linesOf(file)) {
      const index = indexOf(line);
      if (index < next) continue;
      next = index + 1;
      yield line;
    }
}

/** Lines begin with their index, so those before an anchor need not be parsed. */
export const indexOf = (line: string): number => Number(/^\{"index":(\d+),/.exec(line)?.[1] ?? Infinity);

/** The lines of a file, or of the files that it was rotated into (`PATH.FIRSTINDEX`), in order. */
async function* linesOfFile(path: string): AsyncGenerator<string> {
  const rotated = await listRotated(path);
  for (const file of rotated.length === 0 ? [path] : rotated) yield* linesOf(file);
}

async function listRotated(path: string): Promise<string[]> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  const isRotated = (entry: string): boolean =>
    entry.startsWith(`${name}.`) && /^\d{15}$/.test(entry.slice(name.length + 1));
  return names
    .filter(isRotated)
    .toSorted()
    .map((entry) => join(dirname(path), entry));
}

async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(path, 'utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
      if (rest.length > longestLine) yield rest;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CodedError('not_found', `The file ${path} cannot be read (${why}).`, { path }, error);
  }
}
