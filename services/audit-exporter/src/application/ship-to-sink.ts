import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { checkpointText, openNote, parseLogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { peopleIn } from '@lemniscate/shared/audit/person.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LogStore } from './ports/log-store.ts';
import type { SealStore } from './ports/seal-store.ts';
import type { Handing, RefusedEntry, Sink } from './ports/sink.ts';

/** Bounds of a batch: what is held in memory for a sink. */
const mostEntries = 500;
const mostBytes = 4 * 1024 * 1024;
const mostCheckpoints = 100;
/** A sink that takes longer than this for a batch is failing. */
const deliveryDeadlineMs = 30_000;

/**
 * Opens the sink and settles where it goes on. What the sink itself can prove counts more than the cursor: after a
 * crash between sync and cursor it is ahead, after a loss of its own it is behind.
 * @returns the index to deliver next
 * @throws CodedError `audit_chain_broken` when the sink holds an entry that this log does not have
 */
export async function resumeSink({ store, seals }: ShipDeps, sink: Sink): Promise<number> {
  const start = (await store.hasCursor(sink.name)) ? undefined : await startOf(seals, sink);
  const [cursor, position] = [await store.cursor(sink.name, start), await sink.open()];
  if (position === null) return cursor;
  const [there] = await store.read(position.index, 1, mostBytes);
  if (there?.index !== position.index || toHex(there.entry.digest) !== position.digest)
    throw new CodedError(
      'audit_chain_broken',
      `The sink ${sink.name} holds entry ${position.index}, which is not this log's. Either the database was set back ` +
        'to an earlier state, or the sink belongs to another log. Find out which; to start anew give the sink another place.',
      { sink: sink.name, index: position.index },
    );
  const next = position.index + 1;
  if (next > cursor) await store.advance(sink.name, next);
  return next;
}

/**
 * @throws CodedError `configuration_invalid` for an anchor that no key of this log has signed, and for one that is of
 *   another history: one that a restore has lost, or a log that was rewritten
 */
async function startOf(seals: SealStore, { name, start }: Sink): Promise<number | 'now' | undefined> {
  if (typeof start !== 'object') return start;
  const keys = (await seals.keys()).flatMap((text) => parseLogKey(text) ?? []);
  const signed = keys.map((key) => openNote(start.anchor, key)).find((checkpoint) => checkpoint !== null);
  if (signed !== undefined) {
    const [own] = await seals.published(signed.number, Number.MAX_SAFE_INTEGER, 1);
    if (own !== undefined && checkpointText(own) === checkpointText(signed)) return signed.size;
    throw new CodedError(
      'configuration_invalid',
      `The anchor from which ${name} is to begin is checkpoint ${signed.number} of another history than this database has: ` +
        'one that a restore has lost, or somebody has rewritten the log. Find out which; then name another anchor.',
      { sink: name, number: signed.number },
    );
  }
  throw new CodedError(
    'configuration_invalid',
    `The anchor from which ${name} is to begin is no checkpoint that a key of this log has signed.`,
    { sink: name },
  );
}

/**
 * Delivers one batch from an index on and moves the cursor once the sink has proved that it keeps it.
 * @returns the index to deliver next; the same one when there is nothing new
 * @throws CodedError `audit_chain_broken` when an entry that has an index is gone from the database
 */
export async function shipBatch(
  deps: ShipDeps,
  sink: Sink,
  from: number,
  onShipped: ((batch: readonly IndexedEntry[]) => Promise<void>) | null = null,
): Promise<number> {
  const batch = await deliverBatch(deps, sink, from, mostEntries);
  if (batch.length === 0) return from;
  const next = from + batch.length;
  await deps.store.advance(sink.name, next);
  await onShipped?.(batch);
  return next;
}

/** What shipping needs of a term. */
export interface ShipDeps {
  readonly store: LogStore;
  readonly seals: SealStore;
}

/**
 * Delivers the entries from an index on, as many as a batch may have; what the sink refuses for good is set aside.
 * @returns what was delivered
 */
export async function deliverBatch(
  { store, seals }: ShipDeps,
  sink: Sink,
  from: number,
  most: number,
  handing: Handing = 'together',
): Promise<readonly IndexedEntry[]> {
  const batch = await store.read(from, Math.min(most, mostEntries), mostBytes);
  if (batch.length === 0) return batch;
  checkDense(batch, from);
  const named = sink.identities === false ? batch : await withPeople(store, batch);
  const refused = await sink.deliver(named, AbortSignal.timeout(deliveryDeadlineMs), handing);
  for (const each of refused) await setAside(seals, sink, each, (index) => batch[index - from]);
  return batch;
}

/** Resolved at each delivery and kept nowhere, so that an erasure counts from the next batch on. */
async function withPeople(store: LogStore, batch: readonly IndexedEntry[]): Promise<readonly IndexedEntry[]> {
  const pseudonyms = peopleIn(batch.map(({ entry }) => entry.body));
  if (pseudonyms.length === 0) return batch;
  const known = await store.identities(pseudonyms);
  return batch.map((indexed) => {
    const named = peopleIn([indexed.entry.body]).flatMap((pseudonym): [string, string][] => {
      const identity = known.get(pseudonym);
      return identity === undefined ? [] : [[pseudonym, identity]];
    });
    return named.length === 0 ? indexed : { ...indexed, people: new Map(named) };
  });
}

async function setAside(
  seals: SealStore,
  sink: Sink,
  { index, reason, among }: RefusedEntry,
  entryAt: (index: number) => IndexedEntry | undefined,
): Promise<void> {
  const [first, last] = [entryAt(index), entryAt(among?.last ?? index)];
  if (first === undefined || last === undefined) return;
  const some =
    among === undefined
      ? {}
      : {
          through: idOf(last.entry),
          firstIndex: index,
          lastIndex: among.last,
          refused: among.refused,
        };
  // an entry about an entry that was refused, refused itself, must not make another one for ever
  const isOwn = first.entry.type === 'log.undeliverable' && first === last;
  await seals.setAside(
    sink.name,
    index,
    among === undefined ? reason : `${reason}:${among.refused}_of_${among.last - index + 1}`,
    isOwn ? null : undeliverable(sink.name, first.entry, reason, some),
  );
}

const idOf = ({ chain, seq, digest }: ChainedEntry): string => dedupId(chain, seq, toHex(digest));

function undeliverable(
  sink: string,
  entry: ChainedEntry,
  reason: string,
  some: AuditDraft['body'],
): AuditDraft {
  const body = { sink, entry: idOf(entry), reason, ...some };
  return { type: 'log.undeliverable', subject: 'spiffe://lemniscate/audit-exporter', body };
}

/**
 * Delivers the signed checkpoints whose entries the sink has.
 * @param next index that the sink gets next
 * @returns whether there may be more
 */
export async function shipCheckpoints(seals: SealStore, sink: Sink, next: number): Promise<boolean> {
  const from = await seals.anchorCursor(sink.name);
  const checkpoints = await seals.published(from, next, mostCheckpoints);
  const last = checkpoints.at(-1);
  if (last === undefined) return false;
  await sink.anchor(checkpoints, AbortSignal.timeout(deliveryDeadlineMs));
  await seals.advanceAnchor(sink.name, last.number + 1);
  return checkpoints.length === mostCheckpoints;
}

function checkDense(batch: readonly IndexedEntry[], from: number): void {
  const hole = batch.findIndex(({ index }, place) => index !== from + place);
  if (hole === -1) return;
  throw new CodedError(
    'audit_chain_broken',
    `Entry ${from + hole} of the audit log is gone from the database. Nothing behind it is shipped until it is back.`,
    { index: from + hole },
  );
}
