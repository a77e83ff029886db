import type { Transaction } from './transaction.ts';

/** Who the pseudonyms of the audit log are. */
export interface PeopleMap {
  /** The pseudonyms of identities; makes those that are missing, as part of the transaction. */
  pseudonyms(tx: Transaction, identities: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Identities of pseudonyms; null where the row was erased, absent where there never was one. */
  identities(tx: Transaction, pseudonyms: readonly string[]): Promise<ReadonlyMap<string, string | null>>;
  /**
   * Erases who a pseudonym is. The identity gets another pseudonym when it comes back.
   * @returns the pseudonym; null where the identity has none
   */
  erase(tx: Transaction, identity: string): Promise<string | null>;
}
