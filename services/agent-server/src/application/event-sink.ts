import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';

/** Where a session's events go; the journal is behind it. */
export interface EventSink {
  /** Takes an event; facts always fit. Returns its sequence number within the attempt. */
  emit(event: ServerEvent): number;
  /** Resolves when there is room for output; whoever produces output waits here, which is the back-pressure. */
  room(signal: AbortSignal): Promise<void>;
  /** Nothing is on its way: an event emitted now is sent at once. */
  idle(): boolean;
  /** Resolves when everything up to the number is committed at the dispatcher. */
  acknowledged(seq: number, signal: AbortSignal): Promise<void>;
}
