import { setTimeout as sleepFor } from 'node:timers/promises';

/** Waits that grow: doubled from `minMs` to `maxMs`, each shortened at random by up to half so that many do not march in step. */
export interface Backoff {
  /** The next wait in milliseconds. */
  next(): number;
  /** After a success: begins at `minMs` again. */
  reset(): void;
}

export function createBackoff(minMs: number, maxMs: number, random: () => number = Math.random): Backoff {
  let current = minMs;
  return {
    next: () => {
      const wait = current * (1 - random() / 2);
      current = Math.min(maxMs, current * 2);
      return wait;
    },
    reset: () => {
      current = minMs;
    },
  };
}

/** Sleeps; rejects with the signal's reason when it is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    await sleepFor(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
