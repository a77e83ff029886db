import type { Log } from '../ports/log.ts';

/** The undo of every step taken so far, run in reverse. */
export interface Unwind {
  /** To be called as soon as the step has done something that must be undone. */
  push(what: string, undo: () => Promise<void>): void;
  /** Undoes everything, each step even when another one fails. Running it again does nothing more. */
  run(): Promise<void>;
}

export function createUnwind(log: Log): Unwind {
  const steps: { readonly what: string; readonly undo: () => Promise<void> }[] = [];
  return {
    push: (what, undo) => void steps.push({ what, undo }),
    run: async () => {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step.undo();
        } catch (error) {
          log.error({ step: step.what, err: error }, 'a step could not be undone');
        }
      }
    },
  };
}
