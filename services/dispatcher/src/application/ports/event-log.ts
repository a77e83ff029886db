import type {
  DispatcherEvent,
  PositionedEvent,
  SessionEvent,
} from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from './transaction.ts';

/** An event on its way into the record. `segmentKey` names the object that holds an output too large for a row. */
export interface EventDraft {
  readonly event: SessionEvent;
  readonly at: string;
  readonly segmentKey?: string;
}

/** An event of the dispatcher itself whose position was taken by the statement that changed its session. */
export interface PlacedEvent {
  readonly sessionId: string;
  readonly attempt: number;
  readonly position: number;
  readonly event: DispatcherEvent;
}

/** Gives an event its position in the session, in the caller's transaction. */
export interface EventLog {
  /** Events of the dispatcher itself, stamped with its clock. */
  append(
    tx: Transaction,
    sessionId: string,
    attempt: number,
    events: readonly DispatcherEvent[],
  ): Promise<readonly PositionedEvent[]>;
  /** Events with a time and perhaps a place of their own. One statement, sent before the first await. */
  appendDrafts(
    tx: Transaction,
    sessionId: string,
    attempt: number,
    drafts: readonly EventDraft[],
  ): Promise<readonly PositionedEvent[]>;
  /**
   * Events of several sessions at places that the caller has taken already, with the sessions' own rows. One statement,
   * sent before the first await.
   */
  appendPlaced(tx: Transaction, events: readonly PlacedEvent[]): Promise<void>;
  /**
   * Wakes live readers; called after the commit. Losing it costs a reader at most its poll interval. Given the events
   * that the transaction has appended last, readers need not ask the record for them.
   */
  announce(sessionId: string, events?: readonly PositionedEvent[]): void;
}
