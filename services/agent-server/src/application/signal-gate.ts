import { abortable } from './abortable.ts';

/** Wakes whoever waits for a change; a wake-up without a waiter is not kept. */
export interface Gate {
  /** Lets everybody who waits now look again. */
  wake(): void;
  /** Resolves as soon as `open()` is true; looks at once and after each `wake`. */
  until(open: () => boolean, signal: AbortSignal): Promise<void>;
}

export function createGate(): Gate {
  let waiting = Promise.withResolvers<void>();
  return {
    wake: () => {
      const woken = waiting;
      waiting = Promise.withResolvers<void>();
      woken.resolve();
    },
    until: async (open, signal) => {
      signal.throwIfAborted();
      while (!open()) await abortable(waiting.promise, signal);
    },
  };
}
