import { parseLogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import { createTreeHasher, emptyFrontier, leafHash } from '@lemniscate/shared/audit/merkle.ts';
import type { TreeNode } from '@lemniscate/shared/audit/merkle.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LogSigner } from './ports/log-signer.ts';
import type { SealRow, SealStore } from './ports/seal-store.ts';

/** Most entries that one checkpoint adds: 20,000 digests are 640 KB. */
const mostLeaves = 20_000;

export interface SealDeps {
  readonly store: SealStore;
  readonly signer: LogSigner;
  readonly now: () => Date;
  readonly everyMs: number;
  /** The exporter's name in the entries that it writes. */
  readonly subject: string;
}

/** Where checkpoints go on; another epoch than the last checkpoint's after a restore. */
export interface SealPlace {
  readonly origin: string;
  readonly restored: { readonly epoch: number; readonly number: number } | null;
}

/**
 * Makes ready to seal: the log has a key, and a restore that the operator tells of has its entry.
 * @throws CodedError `configuration_invalid`
 */
export async function prepareSeal({ store, signer, subject }: SealDeps): Promise<SealPlace> {
  await signer.prepare(store, subject);
  const origin = await store.origin();
  const keyTexts = await store.keys();
  const keys = keyTexts.flatMap((text) => parseLogKey(text) ?? []);
  const anchor = await signer.restoredFrom(keys);
  const last = await store.last();
  // the variable may stay set after it has done its work
  if (anchor === null || (last?.epoch ?? 0) > anchor.epoch) return { origin, restored: null };
  if (last !== null && last.number > anchor.number)
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_LOG_RESTORED_FROM names checkpoint ${anchor.number}, but this database has checkpoint ${last.number}. ` +
        'Give the last checkpoint that the receivers have, or unset the variable if nothing was restored.',
    );
  // a last row without a signature was refused by the signer: another one of its number is known outside
  const kept = last === null ? -1 : last.note === null ? last.number - 1 : last.number;
  await store.append(await signer.restoreEntry(subject, kept, anchor, keyTexts.at(-1) ?? ''));
  return { origin, restored: { epoch: anchor.epoch + 1, number: anchor.number + 1 } };
}

/**
 * One pass: signs what a sealer before left unsigned, then commits and signs the next checkpoint when entries have come
 * or the time is up.
 * @returns whether there is more to seal at once
 */
export async function sealOnce(deps: SealDeps, place: SealPlace): Promise<boolean> {
  const { store } = deps;
  const last = await store.last();
  const isLost = place.restored !== null && (last === null || last.epoch < place.restored.epoch);
  if (last?.note === null && !isLost) await publish(deps, place.origin, last);
  const { row, nodes } = await nextRow(deps, place, last);
  // the first checkpoint of an epoch covers the entry that explains it
  if (isLost && row.frontier.size <= ((await store.lastOwnIndex()) ?? Infinity)) return false;
  const added = row.frontier.size - (last?.frontier.size ?? 0);
  const elapsed = last === null ? Infinity : Date.parse(row.at) - Date.parse(last.at);
  if (added === 0 && elapsed < deps.everyMs && row.epoch === last?.epoch) return false;
  // a log that was rewritten gets no row: an unsigned one could not be taken back once the log is put right
  await deps.signer.hold(checkpointOf(place.origin, row), store);
  // the row first: whoever is frozen here finds its number taken, and its successor signs the same bytes
  await store.seal(row, nodes);
  await publish(deps, place.origin, row);
  return added === mostLeaves;
}

async function nextRow(
  { store, now }: SealDeps,
  { restored }: SealPlace,
  last: SealRow | null,
): Promise<{ row: SealRow; nodes: { node: TreeNode; hash: Uint8Array }[] }> {
  const nodes: { node: TreeNode; hash: Uint8Array }[] = [];
  const from = last?.frontier ?? emptyFrontier;
  const hasher = createTreeHasher(from, (node, hash) => nodes.push({ node, hash }));
  for (const digest of await store.digests(from.size, mostLeaves)) hasher.push(leafHash(digest));
  const begins = restored !== null && (last === null || last.epoch < restored.epoch) ? restored : null;
  const row: SealRow = {
    number: begins?.number ?? (last === null ? 0 : last.number + 1),
    epoch: begins?.epoch ?? last?.epoch ?? 0,
    root: hasher.root(),
    frontier: hasher.frontier(),
    at: now().toISOString(),
    note: null,
  };
  return { row, nodes };
}

async function publish({ store, signer }: SealDeps, origin: string, row: SealRow): Promise<void> {
  const key = await store.keyFor(row.frontier.size);
  if (key === null) throw new CodedError('internal', 'The audit log has no key to sign with.');
  await store.publish(row.number, await signer.sign(checkpointOf(origin, row), key, store));
}

function checkpointOf(origin: string, { number, epoch, root, at, frontier }: SealRow): Checkpoint {
  return { origin, size: frontier.size, root, number, epoch, at };
}
