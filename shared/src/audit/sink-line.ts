import { z } from 'zod';
import { readCanonical } from './canonical.ts';
import type { ChainedEntry } from './entry.ts';
import { storedEntrySchema, toStored } from './stored-entry.ts';

/**
 * One entry as a line-based sink keeps it: everything that a verifier needs without the database, and the same entry
 * readable. The line is a pure function of the entry and its index (no time of export): two exporters that write the
 * same index write the same bytes.
 */
export const sinkLineSchema = storedEntrySchema.extend({
  /** `chain:seq:digest`, by which a receiver drops what it has already. */
  id: z.string(),
  /** Place in the whole log, from 0 without holes. */
  index: z.int().min(0),
  /** What `body` says, for people and searches; null where the stored bytes are no JSON. */
  entry: z.json(),
});
export type SinkLine = z.infer<typeof sinkLineSchema>;

/** An entry with its place in the whole log. */
export interface IndexedEntry {
  readonly index: number;
  readonly entry: ChainedEntry;
  /** Who the pseudonyms in it are, where the sink is told; no part of what was hashed. */
  readonly people?: ReadonlyMap<string, string>;
}

/**
 * The id by which receivers know an entry: place and the first 64 bits of the digest. After a restore of the database
 * the same place is taken by another entry, and a receiver must not drop that as one that it has.
 * @param digest hex
 */
export const dedupId = (chain: string, seq: number, digest: string): string =>
  `${chain}:${seq}:${digest.slice(0, 16)}`;

/** The line, with its line feed. */
export function toSinkLine({ index, entry }: IndexedEntry): string {
  const { chain, seq, type, at, prev, digest, body } = toStored(entry);
  const readable = readCanonical(entry.body)?.value ?? null;
  const line = {
    index,
    id: dedupId(chain, seq, digest),
    chain,
    seq,
    type,
    at,
    entry: readable,
    prev,
    digest,
    body,
  };
  return `${JSON.stringify(line)}\n`;
}
