import type { SignedCheckpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';

/** The last entry that a sink certainly has. */
export interface SinkPosition {
  readonly index: number;
  /** Hex; tells whether the sink's log is this log. */
  readonly digest: string;
}

/** An entry that a receiver will never take, whatever is tried. */
export interface RefusedEntry {
  readonly index: number;
  /** A code of ours: a receiver's own sentence may quote the entry. */
  readonly reason: string;
  /** Where the receiver said only how many it refuses: of the entries from `index` to here. */
  readonly among?: { readonly last: number; readonly refused: number };
}

/** How entries are handed over: as many at once as fit, or each by itself, so that its answer is about it alone. */
export type Handing = 'together' | 'singly';

/** A receiver of the audit log. Driven by one caller, one call at a time. */
export interface Sink {
  /** Names its cursor. Another place to write to is another name. */
  readonly name: string;
  /**
   * Where a sink that has no cursor yet begins; absent: at index 0. `now` leaves out what is in the log already; an anchor
   * is the note of a checkpoint of this log, behind whose entries it begins.
   */
  readonly start?: number | 'now' | { readonly anchor: string };
  /** Whether a range can be sent to it again; absent: it can. A file of entries in their order cannot take one twice. */
  readonly resends?: boolean;
  /** Whether its answer says which entries of a request it refuses; absent: it does. */
  readonly tellsWhich?: boolean;
  /** Whether it is told who the pseudonyms are; absent: it is. */
  readonly identities?: boolean;
  /**
   * Makes ready to receive, also after a failure, and says where the sink stands; null where it cannot tell or is empty.
   * @throws CodedError where it cannot be used as it is
   */
  open(): Promise<SinkPosition | null>;
  /**
   * Delivers entries in the order of their indexes. Resolves only when the receiver has proved that it keeps them
   * (written *and* synced, acknowledged, indexed); after a rejection nobody knows, and `open` is called next.
   * @param handing `singly` for a range that a person wants sent again; absent: together
   * @returns the entries that it refuses for good; all others are kept
   * @throws CodedError `forbidden` when it does not accept our credentials: nothing is dropped, a person is needed
   */
  deliver(
    batch: readonly IndexedEntry[],
    signal: AbortSignal,
    handing?: Handing,
  ): Promise<readonly RefusedEntry[]>;
  /**
   * Delivers signed checkpoints in the order of their numbers, each after the entries that it covers. Resolves on the same
   * proof as `deliver`; one that comes again adds nothing.
   */
  anchor(checkpoints: readonly SignedCheckpoint[], signal: AbortSignal): Promise<void>;
  /**
   * The last checkpoint that the receiver holds, as a line of a `.checkpoints` file; null: none. Absent where it cannot
   * tell. Asked beside other calls, also of a sink that is not open: the keeper of the log's key asks it for what was
   * signed, so that a host that has forgotten cannot be shown an older log.
   * @throws where it does not answer
   */
  witness?(): Promise<string | null>;
  /** Lets go of handles and connections; safe to repeat. */
  close(): Promise<void>;
}
