import type { Readable } from 'node:stream';

/** A keyboard whose keys arrive one by one. */
export interface Keyboard extends Readable {
  setRawMode?(raw: boolean): unknown;
}

/** What a person may press while a session runs. */
export interface KeyActions {
  /** Ends the whole session. */
  stop(): void;
  /** Ends what the agent does at the moment. */
  interrupt(): void;
}

const ctrlC = '\u0003';
/** Ctrl-X ends the whole session also where letters are text. */
export const stopKey = '\u0018';

/** Listens for single keys until it is told to rest, and gives the keyboard back as it was. */
export function createKeys(keyboard: Keyboard, actions: KeyActions): { listen(): void; rest(): void } {
  let listening = false;
  const hear = (chunk: Buffer | string): void => {
    for (const key of chunk.toString()) {
      if (key === ctrlC) actions.interrupt();
      if (key === 's' || key === 'S' || key === stopKey) actions.stop();
    }
  };
  return {
    listen: () => {
      if (listening) return;
      listening = true;
      keyboard.setRawMode?.(true);
      keyboard.on('data', hear);
      keyboard.resume();
    },
    rest: () => {
      if (!listening) return;
      listening = false;
      keyboard.off('data', hear);
      keyboard.pause();
      keyboard.setRawMode?.(false);
    },
  };
}
