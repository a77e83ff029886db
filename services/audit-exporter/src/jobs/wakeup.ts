/** Wakes a loop: a signal that comes while the loop is busy is kept until it next waits. */
export interface Wakeup {
  wake(): void;
  /** Resolves on a signal or after `ms`, whichever is first. */
  wait(ms: number): Promise<void>;
}

/** A wakeup for one waiting loop. */
export function createWakeup(): Wakeup {
  let signalled = false;
  let resume: (() => void) | null = null;
  return {
    wake: () => {
      signalled = true;
      resume?.();
    },
    wait: async (ms) => {
      if (!signalled)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          resume = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      signalled = false;
      resume = null;
    },
  };
}
