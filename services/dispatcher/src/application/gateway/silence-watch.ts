/** Aborts when nothing was heard for the time. */
export interface SilenceWatch {
  readonly signal: AbortSignal;
  heard(): void;
  /** The next silence is not the provider's: its answer waits for a slow receiver. Ends with `heard`. */
  pause(): void;
  stop(): void;
}

/** One timer for the whole answer: making one a chunk would cost more than metering it. */
export function createSilenceWatch(ms: number): SilenceWatch {
  const controller = new AbortController();
  let paused = false;
  const timer = setTimeout(() => {
    if (paused) timer.refresh();
    else controller.abort(new Error(`the provider was silent for ${ms} ms`));
  }, ms);
  return {
    signal: controller.signal,
    heard: () => {
      paused = false;
      timer.refresh();
    },
    pause: () => {
      paused = true;
    },
    stop: () => clearTimeout(timer),
  };
}
