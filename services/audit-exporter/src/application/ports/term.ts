import type { LogStore } from './log-store.ts';
import type { SealStore } from './seal-store.ts';
import type { SettingsStore } from './settings-store.ts';

/**
 * A term: one direct connection to the record, which may hold the exporters' lock. All work of a term runs on this very
 * connection, so whoever has lost the lock can no longer write.
 */
export interface Term {
  readonly store: LogStore;
  readonly seals: SealStore;
  readonly settings: SettingsStore;
  /** Whether this exporter has the lock now; asks once. */
  lead(): Promise<boolean>;
  /** Resolves when the connection is gone, for whatever reason. */
  readonly over: Promise<void>;
  end(): Promise<void>;
}

/**
 * Begins a term.
 * @param notified called when somebody says that entries have been added
 * @throws where the record does not answer, or lacks the tables
 */
export type BeginTerm = (notified: () => void) => Promise<Term>;
