import type { EventSink } from './event-sink.ts';

/** The longest text of one event, in UTF-16 units: far below the protocol's bound, so that live readers get small pieces. */
const pieceLength = 32 * 1024;

/** Text on its way to the journal: sent at once when nothing is in flight, else gathered for a moment. */
export interface TextStream {
  /** Waits while the journal has no room. */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** Emits what is gathered; to be called before any event that must come after the text. */
  flush(): void;
}

/** @param gatherMs how long text may wait for more while a batch is in flight; 50 ms is below what a reader notices */
export function createTextStream(
  sink: EventSink,
  emitText: (text: string) => void,
  gatherMs = 50,
): TextStream {
  let gathered = '';
  let timer: NodeJS.Timeout | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (gathered.length > 0) {
      const piece = cut(gathered, pieceLength);
      gathered = gathered.slice(piece.length);
      emitText(piece.toWellFormed());
    }
  }

  return {
    write: async (text, signal) => {
      if (text.length === 0) return;
      await sink.room(signal);
      gathered += text;
      if (sink.idle() || gathered.length >= pieceLength) return flush();
      timer ??= setTimeout(flush, gatherMs);
    },
    flush,
  };
}

/** The head of a text, at most `length` units, that does not tear a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const tears = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, tears ? length - 1 : length);
}
