import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';

/** The audit log as the exporter sees it. */
export interface LogStore {
  /**
   * Gives indexes to at most `limit` entries that have none, densely, in the order of each chain.
   * @returns how many got one
   */
  order(limit: number): Promise<number>;
  /** Entries from an index on, in order; fewer than `limit` where their bodies pass `maxBytes`. */
  read(from: number, limit: number, maxBytes: number): Promise<IndexedEntry[]>;
  /** The `traceparent`s of those of the sessions that are traced. */
  traces(sessionIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Who pseudonyms are, as far as the map still knows. */
  identities(pseudonyms: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Whether the sink has a cursor, so that it matters no more where it was to begin. */
  hasCursor(sink: string): Promise<boolean>;
  /** First index that the sink has not proved to have; `start` where it has no cursor yet. */
  cursor(sink: string, start?: number | 'now'): Promise<number>;
  /** Moves a sink's cursor forward; a move backward changes nothing. */
  advance(sink: string, next: number): Promise<void>;
  /** The oldest range that this sink is to get again; null: none. */
  openResend(sink: string): Promise<ResendRange | null>;
  /** Says that everything before an index was sent again. */
  advanceResend(id: string, next: number): Promise<void>;
  /** @param refused why it was not done; null: it was */
  closeResend(id: string, refused: string | null): Promise<void>;
  /** How many entries have no index yet, how many have one, and when the entry at an index was made. */
  backlog(from: readonly number[]): Promise<Backlog>;
  /** How often something was set aside because a sink refuses it, by sink; one that refused nothing is not there. */
  setAside(): Promise<ReadonlyMap<string, number>>;
}

/** Entries from `next` to before `to`. */
export interface ResendRange {
  readonly id: string;
  readonly next: number;
  readonly to: number;
}

export interface Backlog {
  readonly pending: number;
  readonly size: number;
  /** For each asked index: RFC 3339, or null where no entry has it yet. */
  readonly at: readonly (string | null)[];
}
