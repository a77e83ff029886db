import { checkpointText, openNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { sameBytes } from '@lemniscate/shared/audit/digest.ts';
import { createTreeHasher, emptyFrontier, leafHash } from '@lemniscate/shared/audit/merkle.ts';
import type { Frontier } from '@lemniscate/shared/audit/merkle.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SealRow, SealStore } from '../application/ports/seal-store.ts';
import { isFrontierOf } from './signed-memory.ts';
import type { Remembered } from './signed-memory.ts';

/** Digests read at once: 640 KB. */
const mostLeaves = 20_000;
/** Entries of a log that a keeper without a memory computes anew: ten reads. Of a longer one it believes its own signature. */
const cheapSize = 200_000;

/** What a keeper knows that the database cannot change. */
export interface Keeper {
  readonly memory: Remembered | null;
  /** Public halves of the keys that it holds. */
  readonly keys: readonly LogKey[];
  /** The checkpoint from which the operator says that the database was restored. */
  readonly restoredFrom: Checkpoint | null;
}

/** Something that was signed before, and where to compute on from. */
interface Base {
  readonly from: Frontier;
  /** The tree on the way that must have its root; null where nothing was signed yet. */
  readonly signed: Checkpoint | null;
}

/**
 * The frontier of a checkpoint's tree, computed from what was signed last and the digests since: the rows of the database
 * are believed for nothing but those digests.
 * @throws CodedError `audit_chain_broken` when the checkpoint does not extend what was signed
 */
export async function provenFrontier(
  checkpoint: Checkpoint,
  store: SealStore,
  keeper: Keeper,
): Promise<Frontier> {
  const { from, signed } = await baseOf(checkpoint, store, keeper);
  const begins = checkpoint.epoch !== (signed?.epoch ?? 0);
  const { restoredFrom } = keeper;
  if (begins && (restoredFrom?.epoch !== checkpoint.epoch - 1 || restoredFrom.number >= checkpoint.number))
    throw refused(checkpoint, `nobody has told of the restore that began epoch ${checkpoint.epoch}`);
  if (signed !== null && signed.size > checkpoint.size)
    throw refused(checkpoint, `it covers ${checkpoint.size} entries, and ${signed.size} were signed`);
  const hasher = createTreeHasher(from);
  const growTo = async (size: number): Promise<void> => {
    while (hasher.size() < size) {
      const digests = await store.digests(hasher.size(), Math.min(mostLeaves, size - hasher.size()));
      if (digests.length === 0) throw refused(checkpoint, `entry ${hasher.size()} of the log is gone`);
      for (const digest of digests) hasher.push(leafHash(digest));
    }
  };
  for (const tree of signed === null ? [checkpoint] : [signed, checkpoint]) {
    await growTo(tree.size);
    if (!sameBytes(hasher.root(), tree.root))
      throw refused(
        checkpoint,
        `the first ${tree.size} entries do not have the root of checkpoint ${tree.number}`,
      );
  }
  return hasher.frontier();
}

async function baseOf(checkpoint: Checkpoint, store: SealStore, { memory, keys }: Keeper): Promise<Base> {
  if (memory !== null && memory.checkpoint.epoch > checkpoint.epoch)
    throw refused(checkpoint, `epoch ${memory.checkpoint.epoch} was signed already`);
  if (memory?.checkpoint.epoch === checkpoint.epoch) {
    const from = memory.frontier ?? (await storedFrontier(store, memory.checkpoint));
    // a memory of an earlier version, and a row that does not prove itself: from the first entry on
    return { from: from ?? emptyFrontier, signed: memory.checkpoint };
  }
  const row = await store.lastSigned();
  if (row === null) return { from: emptyFrontier, signed: null };
  const signed = openedBy(row, keys);
  if (signed === null)
    throw refused(
      checkpoint,
      `checkpoint ${row.number} of the database was not signed by a key that is here`,
    );
  if (signed.number >= checkpoint.number)
    throw refused(checkpoint, `checkpoint ${signed.number} was signed already`);
  return { from: signed.size <= cheapSize ? emptyFrontier : row.frontier, signed };
}

/** What a row says, when it says what was signed. */
function openedBy({ note, number, epoch, frontier }: SealRow, keys: readonly LogKey[]): Checkpoint | null {
  const signed = keys.map((key) => openNote(note ?? '', key)).find((opened) => opened !== null) ?? null;
  if (signed === null || signed.number !== number || signed.epoch !== epoch) return null;
  return isFrontierOf(frontier, signed) ? signed : null;
}

async function storedFrontier(store: SealStore, signed: Checkpoint): Promise<Frontier | null> {
  const [row] = await store.published(signed.number, Number.MAX_SAFE_INTEGER, 1);
  if (row === undefined || checkpointText(row) !== checkpointText(signed)) return null;
  const frontier = { size: row.size, hashes: row.frontier };
  return isFrontierOf(frontier, signed) ? frontier : null;
}

function refused({ number }: Checkpoint, why: string): CodedError {
  return new CodedError(
    'audit_chain_broken',
    `Checkpoint ${number} is refused: ${why}. The log that this database has does not extend the one that was signed: ` +
      'somebody has rewritten it, or it was restored (then set LEMNISCATE_LOG_RESTORED_FROM). Keep what the receivers have.',
    { number },
  );
}
