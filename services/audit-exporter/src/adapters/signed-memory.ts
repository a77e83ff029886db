import { checkpointLineSchema, toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { readNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import { sameBytes } from '@lemniscate/shared/audit/digest.ts';
import { frontierRoot } from '@lemniscate/shared/audit/merkle.ts';
import type { Frontier } from '@lemniscate/shared/audit/merkle.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** A checkpoint that was signed, as the key's keeper remembers it. */
export interface Remembered {
  readonly checkpoint: Checkpoint;
  /** Its signed part. */
  readonly text: string;
  /** Null in a memory that an earlier version wrote: it kept the note alone. */
  readonly frontier: Frontier | null;
}

/** Whether a checkpoint was signed before another one. */
export const isBehind = (one: Checkpoint, other: Checkpoint): boolean =>
  one.epoch === other.epoch ? one.number < other.number : one.epoch < other.epoch;

/** The one of two memories that was signed later. */
export function newer(one: Remembered | null, other: Remembered | null): Remembered | null {
  if (one === null || other === null) return one ?? other;
  return isBehind(one.checkpoint, other.checkpoint) ? other : one;
}

/** The note of a file that holds a bare one, or the line of a `.checkpoints` file. */
export function noteOf(file: string): string {
  return lineOf(file)?.note ?? file;
}

/**
 * Reads a keeper's memory.
 * @throws CodedError `configuration_invalid` when it holds something else, for then nothing is known of what was signed
 */
export function readMemory(path: string, file: string): Remembered {
  const line = lineOf(file);
  const read = readNote(line?.note ?? file);
  const hashes = line?.frontier.map((hash) => Buffer.from(hash, 'hex')) ?? null;
  const frontier = read === null || hashes === null ? null : { size: read.checkpoint.size, hashes };
  if (read !== null && (frontier === null || isFrontierOf(frontier, read.checkpoint)))
    return { ...read, frontier };
  throw new CodedError(
    'configuration_invalid',
    `${path} does not hold the last checkpoint that was signed. Put the newest one that a receiver has there (a line of a ` +
      '`.checkpoints` file, or its note).',
  );
}

/** The text of a memory. */
export const memoryText = (checkpoint: Checkpoint, note: string, frontier: Frontier): string =>
  toCheckpointLine({ ...checkpoint, note, frontier: frontier.hashes });

/** Whether a frontier is that of a tree with this size and root. */
export function isFrontierOf(frontier: Frontier, { size, root }: Pick<Checkpoint, 'size' | 'root'>): boolean {
  const ones = size.toString(2).replaceAll('0', '').length;
  return frontier.size === size && frontier.hashes.length === ones && sameBytes(frontierRoot(frontier), root);
}

function lineOf(file: string) {
  try {
    return checkpointLineSchema.safeParse(JSON.parse(file)).data ?? null;
  } catch {
    // no JSON: a bare note
    return null;
  }
}
