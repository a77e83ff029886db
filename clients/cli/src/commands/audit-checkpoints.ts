import { readFile } from 'node:fs/promises';
import { parseLogKey, readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import type { CheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import type { LogRestore } from '@lemniscate/shared/audit/log-chain.ts';
import type { Frontier } from '@lemniscate/shared/audit/merkle.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** What signed checkpoints say of the entries of an export. */
export interface SealResult {
  /** Entries from 0 that a true checkpoint covers; what comes after is chained and not signed yet. */
  readonly covered: number;
  readonly checkpoints: number;
  readonly restores: readonly LogRestore[];
}

/** A checkpoint from outside. */
export interface Anchor {
  readonly note: string;
  readonly number: number;
  /** Where the file that holds it has one: the walk may begin behind the anchor. */
  readonly frontier?: Frontier;
}

/** Reads the public key of a log, given as text or as a file with it. @throws CodedError `request_invalid` */
export async function readLogKey(given: string): Promise<LogKey> {
  const key = parseLogKey(given) ?? parseLogKey(await readText(given));
  if (key !== null) return key;
  throw new CodedError('request_invalid', `${given} is no public key of an audit log (NAME+HASH+BASE64).`);
}

/**
 * The notes of a `.checkpoints` file from a number on; a torn last line is an export in progress.
 * @throws CodedError `not_found`, `request_invalid`
 */
export async function readNotes(path: string, from: number): Promise<string[]> {
  const lines = (await readText(path)).split('\n').slice(0, -1);
  return lines
    .map((line, place) => parseLine(line, `${path} line ${place + 1}`))
    .flatMap(({ number, note }) => (number < from ? [] : [note]));
}

/** Reads an anchor: a bare note, or a `.checkpoints` file, whose last line is taken. @throws CodedError `request_invalid` */
export async function readAnchor(path: string): Promise<Anchor> {
  const text = await readText(path);
  const bare = readNote(text);
  if (bare !== null) return { note: text, number: bare.checkpoint.number };
  const { note, number, size, frontier } = parseLine(text.trimEnd().split('\n').at(-1) ?? '', path);
  return { note, number, frontier: { size, hashes: frontier.map((hash) => Buffer.from(hash, 'hex')) } };
}

/** One or two lines for a person. */
export function describeSeal(sealed: SealResult | undefined): string {
  if (sealed === undefined) return '';
  const restores = sealed.restores.map(
    ({ epoch, fromNumber, anchorNumber }) =>
      `restored: epoch ${epoch} began from a backup; checkpoints ${fromNumber + 1} to ${anchorNumber} and their entries are gone\n`,
  );
  return `signed: the first ${sealed.covered} entries, by ${sealed.checkpoints} checkpoints\n${restores.join('')}`;
}

function parseLine(line: string, place: string): CheckpointLine {
  try {
    const parsed = checkpointLineSchema.safeParse(JSON.parse(line));
    if (parsed.success) return parsed.data;
  } catch {
    // no JSON: told below like any other line that is none
  }
  throw new CodedError('request_invalid', `${place} is no checkpoint.`);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CodedError('not_found', `The file ${path} cannot be read (${why}).`, { path }, error);
  }
}
