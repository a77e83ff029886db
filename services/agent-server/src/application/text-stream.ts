import { createStreamRedactor } from '@lemniscate/shared/secrets/redact-stream.ts';
import type { EventSink } from './event-sink.ts';

/** The longest text of one event, in UTF-16 units: far below the protocol's bound, so that live readers get small pieces. */
const pieceLength = 32 * 1024;

/** Text on its way to the journal: sent at once when nothing is in flight, else gathered for a moment. */
export interface TextStream {
  /** Waits while the journal has no room. */
  write(text: string, signal: AbortSignal): Promise<void>;
  /** Emits what is gathered, but for an end that may be the beginning of a secret. */
  send(): void;
  /** Emits everything; to be called before any event that must come after the text. */
  flush(): void;
}

/**
 * Secrets in the text are replaced before they are emitted, also those that come in two pieces.
 * @param gatherMs how long text may wait for more while a batch is in flight; 50 ms is below what a reader notices
 */
export function createTextStream(
  sink: EventSink,
  emitText: (text: string) => void,
  gatherMs = 50,
): TextStream {
  const redactor = createStreamRedactor();
  let gathered = '';
  let timer: NodeJS.Timeout | null = null;

  function emit(text: string): void {
    for (let rest = text; rest.length > 0;) {
      const piece = cut(rest, pieceLength);
      rest = rest.slice(piece.length);
      emitText(piece.toWellFormed());
    }
  }

  function send(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (gathered.length === 0) return;
    const text = redactor.write(gathered);
    gathered = '';
    emit(text);
  }

  return {
    write: async (text, signal) => {
      if (text.length === 0) return;
      await sink.room(signal);
      gathered += text;
      if (sink.idle() || gathered.length >= pieceLength) return send();
      timer ??= setTimeout(send, gatherMs);
    },
    send,
    flush: () => {
      send();
      emit(redactor.end());
    },
  };
}

/** The head of a text, at most `length` units, that does not tear a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const tears = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, tears ? length - 1 : length);
}
