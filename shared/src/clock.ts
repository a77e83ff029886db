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

/** Milliseconds that the processor has spent on this thread: what bounds work that nothing can interrupt. */
export function threadProcessorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
