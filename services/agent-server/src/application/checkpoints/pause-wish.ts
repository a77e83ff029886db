/** Why waits, commands and exchanges are cut short when a session is to be paused. */
class Pause extends Error {
  constructor() {
    super('The session is to be paused.');
    this.name = 'Pause';
  }
}

/** Whether something was cut short by a pause. */
export function isPause(error: unknown): boolean {
  return error instanceof Pause;
}

/**
 * Whether the session is to be paused. A wish that does not come about is taken back, and may come again later. Since
 * a person wants it, or its server is being emptied, it cuts short whatever the session does. Since the session waits, it cuts short the waiting alone:
 * what it waited for may have come while the wish was on its way, and must not be disturbed.
 */
export interface PauseWish {
  /** Asked again and again, by every heartbeat, until it has come about. */
  ask(reason: string): void;
  /** Aborted, with a reason for which `isPause` is true, while any wish stands. */
  signal(): AbortSignal;
  /** The same for a wish that does not wait until the session waits. */
  urgentSignal(): AbortSignal;
  /** The session goes on where it is; it is not disturbed again for so long. */
  takeBack(quietMs: number): void;
}

const urgentReasons: ReadonlySet<string> = new Set(['by_person', 'drained']);

export function createPauseWish(monotonicMs: () => number): PauseWish {
  let any = new AbortController();
  let urgent = new AbortController();
  let quietUntil = -Infinity;
  return {
    ask: (reason) => {
      if (monotonicMs() < quietUntil) return;
      if (urgentReasons.has(reason)) urgent.abort(new Pause());
      any.abort(new Pause());
    },
    signal: () => any.signal,
    urgentSignal: () => urgent.signal,
    takeBack: (quietMs) => {
      quietUntil = monotonicMs() + quietMs;
      if (any.signal.aborted) any = new AbortController();
      if (urgent.signal.aborted) urgent = new AbortController();
    },
  };
}
