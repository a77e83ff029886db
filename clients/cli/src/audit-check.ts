import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { entriesPageSchema, fromStored } from '@lemniscate/shared/audit/stored-entry.ts';
import type { EntriesPage } from '@lemniscate/shared/audit/stored-entry.ts';
import { createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import type { ApiClient } from './api-client.ts';

/** What our own walk over a chain found. */
export interface ChainCheck {
  readonly entries: number;
  readonly verified: boolean;
  /** What is wrong with the first broken entry; null for a whole chain. */
  readonly fault: string | null;
}

/** Reads an ended session's chain and recomputes it here, in this process, from the stored bytes. */
export async function verifySessionChain(client: ApiClient, sessionId: string): Promise<ChainCheck> {
  const chain = sessionChain(sessionId);
  const verifier = createChainVerifier(chain, { closed: true });
  let after: number | null = 0;
  let head: EntriesPage['head'] | null = null;
  while (after !== null) {
    const path = `/v1/audit/chains/${encodeURIComponent(chain)}/entries?after=${after}&limit=1000`;
    const page: EntriesPage = await client.json(path, entriesPageSchema);
    for (const stored of page.entries) verifier.push(fromStored(stored));
    head = page.head;
    after = page.nextAfter;
  }
  const known = head === null ? {} : { head: { seq: head.seq, digest: Buffer.from(head.digest, 'hex') } };
  const fault = verifier.finish({ ...known, closed: true });
  return { entries: verifier.count(), verified: fault === null, fault: fault?.message ?? null };
}
