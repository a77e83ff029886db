import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';

/** What live readers of a session are told: its newest events, or without them that there may be some. */
export interface LiveSignal {
  readonly sessionId: string;
  readonly events?: readonly PositionedEvent[];
}

/**
 * Tells readers in every dispatcher process what was committed. Delivery only: a signal may be lost, late or doubled,
 * and the record is what counts.
 */
export interface LiveEvents {
  /** Never throws and never waits. */
  publish(signal: LiveSignal): void;
  /**
   * A wake-up without a cause may come at any time, such as after the connection was away.
   * @returns how to stop listening
   */
  subscribe(sessionId: string, listener: (signal: LiveSignal) => void): () => void;
}
