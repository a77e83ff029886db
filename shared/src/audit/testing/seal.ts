import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { checkpointText, composeNote, logKey } from '../checkpoint.ts';
import type { Checkpoint, LogKey } from '../checkpoint.ts';
import { createTreeHasher, leafHash } from '../merkle.ts';
import type { Frontier } from '../merkle.ts';
import type { SinkLine } from '../sink-line.ts';

export const origin = 'lemniscate.audit/0123abcd';

export interface KeyPair {
  readonly key: LogKey;
  readonly secret: KeyObject;
}

/** A fresh key of a log. */
export function makeKey(name = origin): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { key: logKey(name, publicKey), secret: privateKey };
}

/** A signed note. */
export function signCheckpoint(checkpoint: Checkpoint, { key, secret }: KeyPair): string {
  const text = checkpointText(checkpoint);
  return composeNote(text, key, sign(null, Buffer.from(text), secret));
}

/** The tree of the first entries of a log. */
export function treeOf(lines: readonly SinkLine[]): { root: Uint8Array; frontier: Frontier } {
  const hasher = createTreeHasher();
  for (const { digest } of lines) hasher.push(leafHash(Buffer.from(digest, 'hex')));
  return { root: hasher.root(), frontier: hasher.frontier() };
}

/** The checkpoint of the first `size` entries. */
export const checkpointOf = (
  lines: readonly SinkLine[],
  size: number,
  number: number,
  epoch = 0,
): Checkpoint => ({
  origin,
  size,
  root: treeOf(lines.slice(0, size)).root,
  number,
  epoch,
  at: '2026-11-29T15:00:00.000Z',
});
