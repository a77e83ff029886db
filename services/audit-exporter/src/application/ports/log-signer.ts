import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { SealStore } from './seal-store.ts';

/** Holds the log's private keys. It remembers what it signed, so that a database that was set back cannot use it. */
export interface LogSigner {
  /**
   * Sees to it that the log has a key that this signer holds: makes the first one, hands over to the next.
   * @throws CodedError `configuration_invalid` when the log is signed by a key that is not here
   */
  prepare(store: SealStore, subject: string): Promise<void>;
  /**
   * Holds a checkpoint against what this signer signed last: it must extend that, by the entries' digests since.
   * @throws CodedError `audit_chain_broken` when it does not, or is another one of a number that was signed
   */
  hold(checkpoint: Checkpoint, store: SealStore): Promise<void>;
  /**
   * The signed note of a checkpoint, which is held against what was signed before.
   * @throws CodedError `audit_chain_broken` as `hold` does
   */
  sign(checkpoint: Checkpoint, keyText: string, store: SealStore): Promise<string>;
  /**
   * The entry with which a restored database begins its new epoch, signed.
   * @param fromNumber last checkpoint that it has; -1: none
   * @throws CodedError `configuration_invalid` when the key is not here, and when a later checkpoint than the anchor is known
   */
  restoreEntry(subject: string, fromNumber: number, anchor: Checkpoint, keyText: string): Promise<AuditDraft>;
  /** The checkpoint from which the operator says that the database was restored; null without one. */
  restoredFrom(keys: readonly LogKey[]): Promise<Checkpoint | null>;
}
