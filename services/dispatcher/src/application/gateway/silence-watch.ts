/** Aborts when nothing was heard for the time. */
export interface SilenceWatch {
  readonly signal: AbortSignal;
  heard(): void;
  /** The next silence is not the provider's: its answer waits for a slow receiver. Ends with `heard`. */
  pause(): void;
  stop(): void;
}

/** One timer for the whole answer, which looks how long ago something was heard: setting it anew a piece would cost more than metering it. */
export function createSilenceWatch(ms: number): SilenceWatch {
  const controller = new AbortController();
  let paused = false;
  let heardAt = performance.now();
  const look = (): void => {
    const left = paused ? ms : ms - (performance.now() - heardAt);
    if (left <= 0) controller.abort(new Error(`the provider was silent for ${ms} ms`));
    else timer = setTimeout(look, left);
  };
  let timer = setTimeout(look, ms);
  return {
    signal: controller.signal,
    heard: () => {
      paused = false;
      heardAt = performance.now();
    },
    pause: () => {
      paused = true;
    },
    stop: () => clearTimeout(timer),
  };
}
