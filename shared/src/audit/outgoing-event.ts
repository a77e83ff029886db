import type { JsonValue } from '../json.ts';
import { readCanonical } from './canonical.ts';
import { checkpointId } from './checkpoint-line.ts';
import type { SignedCheckpoint } from './checkpoint.ts';
import { toHex } from './digest.ts';
import { dedupId } from './sink-line.ts';
import type { IndexedEntry } from './sink-line.ts';

/** What leaves for a receiver, an entry or a checkpoint, before it gets the receiver's own shape. */
export interface OutgoingEvent {
  /** Dedup id: `chain:seq`, or `checkpoint:NUMBER`. */
  readonly id: string;
  /** RFC 3339 with milliseconds, UTC. */
  readonly at: string;
  /** Entry type, or `log.checkpoint`. */
  readonly type: string;
  readonly subject: string;
  readonly server: string | null;
  readonly attempt: number | null;
  /** The entry's body: content-free by the catalogue. */
  readonly body: Readonly<Record<string, JsonValue>>;
  /** What a verifier needs, as strings. */
  readonly integrity: Readonly<Record<string, string>>;
}

/** An entry on its way out. Bytes that are no entry leave with an empty body: the integrity fields carry them. */
export function entryEvent({ index, entry }: IndexedEntry): OutgoingEvent {
  const envelope = recordOf(readCanonical(entry.body)?.value);
  const { subject, server, attempt, body } = envelope;
  return {
    id: dedupId(entry.chain, entry.seq),
    at: entry.at,
    type: entry.type,
    subject: typeof subject === 'string' ? subject : 'unknown',
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
    id: checkpointId(number),
    at,
    type: 'log.checkpoint',
    subject: 'spiffe://lemniscate/audit-exporter',
    server: null,
    attempt: null,
    body: { number, size: String(size), epoch, note },
    integrity: { root: toHex(root) },
  };
}

/** The plain shape: for receivers that take any JSON. */
export const plainRecord = (event: OutgoingEvent): JsonValue => ({ ...event });

function recordOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return {};
  return value as Readonly<Record<string, JsonValue>>;
}
