import type { RuntimeContext } from '../runtime.ts';

/** One step of the loop: `signal` also ends it when a person wants the session to be paused. */
export interface StepContext extends RuntimeContext {
  /** Aborted, beside the signal, when the session is to be put away since it waits: for waits alone. */
  readonly waiting: AbortSignal;
}
