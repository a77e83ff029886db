/** Time is injected. `now` is wall time for records, `monotonicMs` counts without jumps for deadlines. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

/** The process' own clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
