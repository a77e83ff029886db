import { z } from 'zod';
import type { SignedCheckpoint } from './checkpoint.ts';
import { toHex } from './digest.ts';

/**
 * A checkpoint as a line-based sink keeps it, a pure function of the checkpoint. `note` is what is signed; number and
 * size repeat it for readers; the frontier lets a verifier go on from here.
 */
export const checkpointLineSchema = z.object({
  number: z.int().min(0),
  size: z.int().min(0),
  note: z.string().max(8192),
  /** Hex. */
  frontier: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(64),
});
export type CheckpointLine = z.infer<typeof checkpointLineSchema>;

/** The id by which receivers know a checkpoint; the root (hex) is in it for a number that a restore has used twice. */
export const checkpointId = (number: number, root: string): string =>
  `checkpoint:${number}:${root.slice(0, 16)}`;

/** The line, with its line feed. */
export function toCheckpointLine({ number, size, note, frontier }: SignedCheckpoint): string {
  const line: CheckpointLine = { number, size, note, frontier: frontier.map(toHex) };
  return `${JSON.stringify(line)}\n`;
}
