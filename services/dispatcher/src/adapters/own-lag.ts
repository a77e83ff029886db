import type { Clock } from '@lemniscate/shared/clock.ts';

/** How late this process runs its own timers: what it measures of others is wrong by as much. */
export interface OwnLag {
  /** All of it since the beginning, in milliseconds: the difference of two looks is what happened between them. */
  lateMs(): number;
}

/**
 * Of a deadline, what the process itself may have been late before its running out says nothing of who was asked. On a machine
 * that is only busy it is a third at times, and servers that never answer have to be found there too.
 */
const ownShare = 0.5;

/** Whether a call that found no answer in time may have found none since its caller was not there to read it. */
export function isOwnFault(lateMs: number, timeoutMs: number): boolean {
  return lateMs > timeoutMs * ownShare;
}

/**
 * The sum of what its ticks come late. A loop that is blocked for once and one that is busy all the time show alike; so does a
 * process that was stopped.
 * @param everyMs how often `tick` is called by whoever holds it
 */
export function createOwnLag(clock: Pick<Clock, 'monotonicMs'>, everyMs: number): OwnLag & { tick(): void } {
  let passed = 0;
  let last = clock.monotonicMs();
  const overdueMs = (): number => Math.max(0, clock.monotonicMs() - last - everyMs);
  return {
    tick: () => {
      passed += overdueMs();
      last = clock.monotonicMs();
    },
    // A tick that is due already may stand behind whoever asks.
    lateMs: () => passed + overdueMs(),
  };
}

/** Often enough for a deadline of seconds, and no work to speak of. Milliseconds. */
const tickMs = 100;

/** The lag of this process, until it is closed. It keeps no process alive. */
export function watchOwnLag(clock: Pick<Clock, 'monotonicMs'>): OwnLag & { close(): void } {
  const lag = createOwnLag(clock, tickMs);
  const timer = setInterval(lag.tick, tickMs).unref();
  return { lateMs: lag.lateMs, close: () => clearInterval(timer) };
}
