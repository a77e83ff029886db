import { createLogUpdate } from 'log-update';
import type { Writable } from 'node:stream';

/** A terminal that scrolls, with a line at its foot that changes in place. */
export interface LiveTerminal {
  /** Whole lines scroll up; what has no line end yet stays above the foot. */
  write(text: string): boolean;
  /** Changes the foot; null removes it. */
  foot(text: string | null): void;
  /** Takes the moving parts away, so that something else may use the terminal. */
  rest(): void;
  /** Ends for good and shows the cursor again. */
  end(): void;
}

/** Where log-update draws; injected so that a test sees every byte. */
export interface TerminalStream extends Writable {
  readonly columns?: number;
  readonly rows?: number;
}

/** Redraws by difference and by the terminal's width through `log-update`; wraps and wide characters are its work. */
export function createLiveTerminal(stream: TerminalStream): LiveTerminal {
  const draw = createLogUpdate(stream as NodeJS.WritableStream);
  let open = '';
  let foot: string | null = null;

  const redraw = (): void => {
    const parts = [open, foot ?? ''].filter((part) => part !== '');
    if (parts.length === 0) draw.clear();
    else draw(parts.join('\n'));
  };

  const settle = (): void => {
    draw.clear();
    if (open !== '') stream.write(`${open}\n`);
    open = '';
  };

  return {
    write: (text) => {
      const lines = `${open}${text}`.split('\n');
      open = lines.pop() ?? '';
      if (lines.length > 0) {
        draw.clear();
        stream.write(`${lines.join('\n')}\n`);
      }
      redraw();
      return true;
    },
    foot: (text) => {
      foot = text;
      redraw();
    },
    rest: () => {
      foot = null;
      settle();
    },
    end: () => {
      foot = null;
      settle();
      draw.done();
    },
  };
}
