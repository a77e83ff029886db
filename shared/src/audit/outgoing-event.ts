import type { JsonValue } from '../json.ts';
import { readCanonical } from './canonical.ts';
import { checkpointId } from './checkpoint-line.ts';
import type { SignedCheckpoint } from './checkpoint.ts';
import { toHex } from './digest.ts';
import { dedupId } from './sink-line.ts';
import type { IndexedEntry } from './sink-line.ts';

/** What leaves for a receiver, an entry or a checkpoint, before it gets the receiver's own shape. */
export interface OutgoingEvent {
  /** Dedup id: `chain:seq:digest`, or `checkpoint:NUMBER:root`. */
  readonly id: string;
  /** RFC 3339 with milliseconds, UTC. */
  readonly at: string;
  /** Entry type, or `log.checkpoint`. */
  readonly type: string;
  readonly subject: string;
  /** Who the pseudonyms in subject and body are, by the directory; empty where the receiver is not told. */
  readonly people: Readonly<Record<string, string>>;
  readonly server: string | null;
  readonly attempt: number | null;
  /** The entry's body: content-free by the catalogue. */
  readonly body: Readonly<Record<string, JsonValue>>;
  /** What a verifier needs, as strings. */
  readonly integrity: Readonly<Record<string, string>>;
}

/** An entry on its way out. Bytes that are no entry leave with an empty body: the integrity fields carry them. */
export function entryEvent({ index, entry, people }: IndexedEntry): OutgoingEvent {
  const envelope = recordOf(readCanonical(entry.body)?.value);
  const { subject, server, attempt, body } = envelope;
  return {
    id: dedupId(entry.chain, entry.seq, toHex(entry.digest)),
    at: entry.at,
    type: entry.type,
    subject: typeof subject === 'string' ? subject : 'unknown',
    people: Object.fromEntries(people ?? []),
    server: typeof server === 'string' ? server : null,
    attempt: typeof attempt === 'number' ? attempt : null,
    body: recordOf(body),
    integrity: {
      index: String(index),
      chain: entry.chain,
      seq: String(entry.seq),
      prev: toHex(entry.prev),
      digest: toHex(entry.digest),
    },
  };
}

/** A signed checkpoint on its way out; its note is what anchors the log in the receiver. */
export function checkpointEvent(checkpoint: SignedCheckpoint): OutgoingEvent {
  const { number, size, epoch, at, note, root } = checkpoint;
  return {
    id: checkpointId(number, toHex(root)),
    at,
    type: 'log.checkpoint',
    subject: 'spiffe://lemniscate/audit-exporter',
    people: {},
    server: null,
    attempt: null,
    body: { number, size: String(size), epoch, note },
    integrity: { root: toHex(root) },
  };
}

/** Who acted, as a person reads it: the directory's identity where it is known and told, else the subject itself. */
export const identityOf = ({ subject, people }: OutgoingEvent): string => people[subject] ?? subject;

/** The plain shape: for receivers that take any JSON. */
export const plainRecord = (event: OutgoingEvent): JsonValue => ({ ...event, identity: identityOf(event) });

function recordOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return {};
  return value as Readonly<Record<string, JsonValue>>;
}
