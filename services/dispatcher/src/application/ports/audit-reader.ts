import type { ChainsPage, EntriesPage } from '@lemniscate/shared/audit/stored-entry.ts';

/** Reads the audit log as it is stored, for verifiers; judges nothing. */
export interface AuditReader {
  /**
   * Entries of a chain behind `after`, in order; a page ends early when it grows past 4 MiB of bodies.
   * @throws CodedError `not_found` for a chain that nobody opened
   */
  entries(chain: string, after: number, limit: number): Promise<EntriesPage>;
  /** Chains behind `after` by name. */
  chains(after: string, limit: number): Promise<ChainsPage>;
}
