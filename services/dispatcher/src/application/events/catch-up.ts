import type { Clock } from '@lemniscate/shared/clock.ts';

/** Lets one piece of work through when its turn has come. */
export type CatchUp = <Result>(read: () => Promise<Result>) => Promise<Result>;

/**
 * A turn rests for this part of what its page took, so that live events come in between. Two thousand readers of which many
 * have history to read, and beside fifty that take nothing: p99 91 and 138 ms without a rest, 114 and 103 with this one; with
 * twice the page's time 58 ms beside them, but history that was asked for took seconds.
 */
const restFactor = 0.5;

/**
 * Turns for readers that are far behind, in the order in which they ask: fifty that read the history of a loud session
 * together took a process a second in which everybody else's news waited. One page a turn and one turn at a time, so nobody
 * waits for another one's whole history, and the busier the machine is, the slower history comes.
 */
export function createCatchUp(clock: Pick<Clock, 'monotonicMs'>): CatchUp {
  const waiting: (() => void)[] = [];
  let taken = false;
  const turn = (): Promise<void> => {
    if (!taken) {
      taken = true;
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise;
  };
  // The turn is handed on, not given back: nobody slips in between.
  const handOn = (): void => {
    const next = waiting.shift();
    if (next === undefined) taken = false;
    else next();
  };
  return async (read) => {
    await turn();
    const from = clock.monotonicMs();
    try {
      return await read();
    } finally {
      setTimeout(handOn, restFactor * (clock.monotonicMs() - from)).unref();
    }
  };
}
