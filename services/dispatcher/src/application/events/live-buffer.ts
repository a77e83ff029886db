import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { LiveSignal } from '../ports/live-events.ts';

/** Most events and most bytes that wait for one reader; what is beyond is read from the record again. */
const maxEvents = 256;
const maxBytes = 256 * 1024;

/**
 * What a reader has heard and not yet taken. It never grows past its bounds: on a hole, an overflow or a bare wake-up
 * it forgets everything and says that the record must be read.
 */
export interface LiveBuffer {
  hear(signal: LiveSignal): void;
  /** The event right after `position`, or undefined when it is not here. */
  take(position: number): PositionedEvent | undefined;
  /** Whether the record may hold more than this buffer; asking takes the mark away. */
  takeStale(): boolean;
  markStale(): void;
  /** Resolves when there is something to do, at the latest after `ms` or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** An empty buffer, stale from the start: history comes from the record. */
export function createLiveBuffer(): LiveBuffer {
  let events: PositionedEvent[] = [];
  let bytes = 0;
  let stale = true;
  let wake: (() => void) | undefined;

  const forget = (): void => {
    events = [];
    bytes = 0;
    stale = true;
  };
  const hearEvent = (event: PositionedEvent): void => {
    const last = events.at(-1)?.position;
    if (last !== undefined && event.position <= last) return;
    const size = JSON.stringify(event).length;
    const fits = events.length < maxEvents && bytes + size <= maxBytes;
    if (!fits || (last !== undefined && event.position !== last + 1)) return forget();
    events.push(event);
    bytes += size;
  };

  return {
    hear: (signal) => {
      if (signal.events === undefined) stale = true;
      // Once stale the record is read anyway, and it has these events too.
      else if (!stale) signal.events.forEach(hearEvent);
      wake?.();
    },
    take: (position) => {
      while (events[0] !== undefined && events[0].position <= position) drop();
      const [next] = events;
      if (next === undefined) return undefined;
      if (next.position !== position + 1) {
        forget();
        return undefined;
      }
      drop();
      return next;
    },
    takeStale: () => {
      const was = stale;
      stale = false;
      return was;
    },
    markStale: () => {
      stale = true;
      wake?.();
    },
    wait: (ms, signal) => {
      if (stale || events.length > 0 || signal.aborted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const abort = (): void => resolve();
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', abort);
      wake = resolve;
      return promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        wake = undefined;
      });
    },
  };

  function drop(): void {
    const gone = events.shift();
    bytes = events.length === 0 || gone === undefined ? 0 : bytes - JSON.stringify(gone).length;
  }
}
