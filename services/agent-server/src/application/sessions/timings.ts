import type { Clock } from '@lemniscate/shared/clock.ts';

/** How long each step took, in milliseconds with one decimal. */
export interface Timings {
  measure<Value>(step: string, work: () => Promise<Value>): Promise<Value>;
  /** Time since the order arrived. */
  mark(step: string): void;
  all(): Record<string, number>;
}

export function createTimings(clock: Clock): Timings {
  const began = clock.monotonicMs();
  const taken: Record<string, number> = {};
  const note = (step: string, since: number) => {
    taken[step] = Math.round((clock.monotonicMs() - since) * 10) / 10;
  };
  return {
    measure: async (step, work) => {
      const since = clock.monotonicMs();
      try {
        return await work();
      } finally {
        note(step, since);
      }
    },
    mark: (step) => note(step, began),
    all: () => ({ ...taken }),
  };
}
