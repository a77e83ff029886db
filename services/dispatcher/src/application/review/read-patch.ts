import { createHash } from 'node:crypto';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { objectKey } from '../ports/object-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { readDiff } from './diff-row.ts';
import type { DiffRow } from './diff-row.ts';

export interface PatchDeps {
  readonly database: Transaction;
  readonly objects: ObjectStore;
}

/** A diff whose patch can be read. */
export interface OpenedDiff {
  readonly diff: DiffRow;
  /** The patch; fails before its end when the bytes are not the ones that the summary names. */
  readonly patch: AsyncIterable<Uint8Array>;
}

/**
 * Opens a session's diff.
 * @throws CodedError `session_unknown`, `diff_missing`, `storage_failed`
 */
export async function openDiff(deps: PatchDeps, sessionId: string): Promise<OpenedDiff> {
  const diff = await readDiff(deps.database, sessionId);
  if (diff.state === 'discarded')
    throw new CodedError('diff_missing', `The diff of session ${sessionId} was discarded with the session.`, {
      session: sessionId,
    });
  if (diff.patch !== null) return { diff, patch: single(diff.patch) };
  const found = await deps.objects.get(objectKey(diff.project_id, diff.object_sha256 ?? ''));
  if (found === null)
    throw new CodedError('storage_failed', `The patch of session ${sessionId} is not in the object store.`, {
      session: sessionId,
    });
  return { diff, patch: verified(found.body, diff.summary.sha256) };
}

/**
 * The whole patch, or null when it has more than `maxBytes`.
 */
export async function readWhole({ diff, patch }: OpenedDiff, maxBytes: number): Promise<Buffer | null> {
  if (diff.summary.bytes > maxBytes) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of patch) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* single(bytes: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** Holds the last chunk back until the digest is known, so that no reader takes wrong bytes for a whole patch. */
async function* verified(
  body: AsyncIterable<Uint8Array>,
  sha256: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of body) {
    hash.update(chunk);
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (hash.digest('hex') !== sha256)
    throw new CodedError('digest_mismatch', `The stored patch is not the one with digest ${sha256}.`);
  if (held !== undefined) yield held;
}
