import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';
import { toHex } from './digest.ts';
import type { ChainedEntry } from './entry.ts';

/** `session:…`, `review:…`, `fleet:…`. */
export const chainNameSchema = z.string().min(1).max(256);

/** An entry on the wire. What was hashed is `body`; `type` and `at` repeat it for readers and are checked against it. */
export const storedEntrySchema = z.object({
  chain: chainNameSchema,
  seq: z.int().min(1),
  type: z.string(),
  at: z.string(),
  /** Hex; empty for the first entry. */
  prev: z.union([sha256Schema, z.literal('')]),
  digest: sha256Schema,
  /** Base64 of the hashed bytes. */
  body: z.base64(),
});
export type StoredEntry = z.infer<typeof storedEntrySchema>;

/** `GET /v1/audit/chains/:chain/entries?after=SEQ&limit`: entries in order. */
export const entriesPageSchema = z.object({
  entries: z.array(storedEntrySchema),
  /** Who the pseudonyms in these entries are; null where that was erased. No part of what is proved. */
  people: z.record(z.string(), z.string().nullable()).default({}),
  /** `after` of the next page; null at the end of the chain as it stands. */
  nextAfter: z.int().nullable(),
  /** The chain's head as its row has it. */
  head: z.object({ seq: z.int(), digest: sha256Schema, closed: z.boolean() }),
});
export type EntriesPage = z.infer<typeof entriesPageSchema>;

/** `GET /v1/audit/chains?after=CHAIN&limit`: the chains by name. */
export const chainsPageSchema = z.object({
  chains: z.array(
    z.object({
      chain: chainNameSchema,
      seq: z.int(),
      digest: sha256Schema,
      closed: z.boolean(),
      openedAt: z.string(),
    }),
  ),
  nextAfter: z.string().nullable(),
});
export type ChainsPage = z.infer<typeof chainsPageSchema>;

/** To the wire. */
export function toStored(entry: ChainedEntry): StoredEntry {
  return {
    chain: entry.chain,
    seq: entry.seq,
    type: entry.type,
    at: entry.at,
    prev: toHex(entry.prev),
    digest: toHex(entry.digest),
    body: Buffer.from(entry.body).toString('base64'),
  };
}

/** From the wire; the schema has been checked before. */
export function fromStored(stored: StoredEntry): ChainedEntry {
  return {
    chain: stored.chain,
    seq: stored.seq,
    type: stored.type,
    at: stored.at,
    prev: Buffer.from(stored.prev, 'hex'),
    digest: Buffer.from(stored.digest, 'hex'),
    body: Buffer.from(stored.body, 'base64'),
  };
}
