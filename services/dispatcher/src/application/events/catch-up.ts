/** Readers that read long history at the same time. */
const atOnce = 2;

/** Lets one piece of work through when its turn has come. */
export type CatchUp = <Result>(read: () => Promise<Result>) => Promise<Result>;

/**
 * Turns for readers that are far behind, in the order in which they ask: fifty that read the history of a loud session
 * together took a process a second in which everybody else's news waited. One page a turn, so nobody waits for another
 * one's whole history.
 */
export function createCatchUp(): CatchUp {
  const waiting: (() => void)[] = [];
  let reading = 0;
  const turn = (): Promise<void> => {
    if (reading < atOnce) {
      reading += 1;
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise;
  };
  return async (read) => {
    await turn();
    try {
      return await read();
    } finally {
      const next = waiting.shift();
      // The turn is handed on, not given back: nobody slips in between.
      if (next === undefined) reading -= 1;
      else next();
    }
  };
}
