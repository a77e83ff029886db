import { makeVisible } from '@lemniscate/shared/text/visible.ts';

/** What commands print, by call: pieces come in, whole lines go out. */
export interface CallOutput {
  /** Lines that a piece completes, safe to show. */
  take(callId: string, piece: string): string[];
  /** The call is over: its last line, if that had no end, and how many lines were not shown. */
  end(callId: string): { readonly lines: string[]; readonly folded: number };
  /** Last lines without an end, of all calls; they may go on afterwards. */
  flush(): string[];
}

/** A line that is longer is shown in parts: no command makes this client hold more of it. UTF-16 units. */
const longestHeld = 8 * 1024;

interface Held {
  open: string;
  shown: number;
  folded: number;
}

/** @param most lines of one call that are shown; the others are counted */
export function createCallOutput(most: number): CallOutput {
  const calls = new Map<string, Held>();

  const room = (held: Held, lines: readonly string[]): string[] => {
    const fitting = lines.slice(0, Math.max(0, most - held.shown));
    held.shown += fitting.length;
    held.folded += lines.length - fitting.length;
    return fitting.map(makeVisible);
  };

  const closeLine = (held: Held): string[] => {
    const lines = held.open === '' ? [] : room(held, [held.open]);
    held.open = '';
    return lines;
  };

  return {
    take: (callId, piece) => {
      const held = calls.get(callId) ?? { open: '', shown: 0, folded: 0 };
      calls.set(callId, held);
      const lines = `${held.open}${piece}`.split('\n');
      const last = lines.pop() ?? '';
      const isLong = last.length > longestHeld;
      held.open = isLong ? '' : last;
      return room(held, isLong ? [...lines, last] : lines);
    },
    end: (callId) => {
      const held = calls.get(callId);
      if (held === undefined) return { lines: [], folded: 0 };
      calls.delete(callId);
      const lines = closeLine(held);
      return { lines, folded: held.folded };
    },
    flush: () => [...calls.values()].flatMap(closeLine),
  };
}
