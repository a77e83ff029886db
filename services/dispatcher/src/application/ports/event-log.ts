import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from './transaction.ts';

/** Gives an event of the dispatcher its position in the session, in the caller's transaction. */
export interface EventLog {
  append(
    tx: Transaction,
    sessionId: string,
    attempt: number,
    events: readonly DispatcherEvent[],
  ): Promise<void>;
  /** Wakes live readers; called after the commit. Losing it costs a reader at most its poll interval. */
  announce(sessionId: string): void;
}
