/** A deadline that counts only the time in which it runs. */
export interface PausableTimer {
  /** Repeating it does nothing. */
  pause(): void;
  resume(): void;
  clear(): void;
}

/** Calls once `ms` milliseconds have passed in which it was not paused. */
export function startPausableTimer(ms: number, onDue: () => void): PausableTimer {
  let left = ms;
  let since = performance.now();
  let timer: NodeJS.Timeout | null = setTimeout(onDue, left);
  let over = false;
  return {
    pause: () => {
      if (timer === null) return;
      clearTimeout(timer);
      timer = null;
      left -= performance.now() - since;
    },
    resume: () => {
      if (over || timer !== null) return;
      since = performance.now();
      timer = setTimeout(onDue, Math.max(0, left));
    },
    clear: () => {
      over = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
