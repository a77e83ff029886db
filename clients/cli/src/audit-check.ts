import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { ApiClient } from './api-client.ts';
import { walkChain } from './commands/audit-verify.ts';

/** What our own walk over a chain found. */
export interface ChainCheck {
  readonly entries: number;
  readonly verified: boolean;
  /** What is wrong with the first broken entry; null for a whole chain. */
  readonly fault: string | null;
}

/** Reads an ended session's chain and recomputes it here, in this process, from the stored bytes. */
export async function verifySessionChain(client: ApiClient, sessionId: string): Promise<ChainCheck> {
  const { entries, fault } = await walkChain({ fetchJson: client.json }, sessionChain(sessionId), undefined, {
    closed: true,
  });
  return { entries, verified: fault === null, fault: fault?.message ?? null };
}
