import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { Transaction } from './transaction.ts';

/** The audit log: entries become part of the caller's transaction, so that no act is without its record. */
export interface AuditLog {
  /**
   * Appends entries to a chain in order, under the chain's lock.
   * @throws CodedError `audit_chain_broken` when the chain is closed or was never opened
   */
  append(tx: Transaction, chain: string, drafts: readonly AuditDraft[]): Promise<void>;
}
