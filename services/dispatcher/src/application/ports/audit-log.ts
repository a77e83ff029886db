import type { CommittedKind } from '@lemniscate/shared/audit/commitment.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { Transaction } from './transaction.ts';

/** Entries for one chain. */
export interface ChainAppend {
  readonly chain: string;
  readonly drafts: readonly AuditDraft[];
}

/**
 * The audit log: entries become part of the caller's transaction, so that no act is without its record.
 *
 * Lock order: a transaction locks its session's row first, then appends to the session's chain, then to a review or
 * fleet chain. Whoever keeps to it cannot deadlock here.
 */
export interface AuditLog {
  /**
   * Appends entries to a chain in order, under the chain's lock. A session's chain is opened by `session.opened` as its
   * first entry; other chains open by themselves. `chain.closed` closes (the log adds the count). Appends of one
   * transaction are awaited in turn: two that run at once would build on the same head, and the database refuses that.
   * @throws CodedError `audit_chain_broken` when the chain is closed, was never opened or is opened twice;
   *   `internal` when a draft does not fit the catalogue
   */
  append(tx: Transaction, chain: string, drafts: readonly AuditDraft[]): Promise<void>;
  /**
   * The same for several sessions' chains at once, in as many statements as for one. Each chain comes once, and its
   * session's row is locked by the caller already. Resolves when all is sent, so that it shares the round trip of the commit;
   * what stands against an entry fails the commit.
   * @throws as `append`, for all of them together; by the commit at the latest
   */
  appendEach(tx: Transaction, appends: readonly ChainAppend[]): Promise<void>;
  /**
   * Learns where a chain ends, under its lock, so that the next append of this transaction takes one statement. Sent
   * before the first await; nothing is sent where this process wrote the chain's last entry.
   */
  lookAhead(tx: Transaction, chain: string): Promise<void>;
  /** The chain's last entry, such as a session's closing digest (hex) for the review that cites it; null: no chain. */
  head(tx: Transaction, chain: string): Promise<{ seq: number; digest: string; closed: boolean } | null>;
  /** The fleet's keyed commitment (hex) to a text that must not be in the log itself. */
  commit(kind: CommittedKind, text: string): string;
}
