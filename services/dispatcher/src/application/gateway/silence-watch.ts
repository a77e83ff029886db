/** How an answer flows, written by whoever relays it. */
export interface AnswerFlow {
  /** What has come so far: any other number than before was heard. */
  pieces: number;
  /** It waits for a slow receiver: the silence is not the provider's. */
  isHeldUp: boolean;
}

/** Aborts when nothing was heard for the time. */
export interface SilenceWatch {
  readonly signal: AbortSignal;
  readonly flow: AnswerFlow;
  stop(): void;
}

/** Looks within one time of silence: a silence is noticed at most an eighth of it late. */
const looks = 8;

/**
 * One timer for the whole answer, which looks whether pieces have come since: to set it anew, or to read the clock, for each
 * piece would cost more than to meter it.
 * @param ms the longest silence; it ends the exchange after that and at most an eighth more
 */
export function createSilenceWatch(ms: number): SilenceWatch {
  const controller = new AbortController();
  const flow: AnswerFlow = { pieces: 0, isHeldUp: false };
  let seen = 0;
  let heardAt = performance.now();
  const look = (): void => {
    const now = performance.now();
    if (flow.isHeldUp || flow.pieces !== seen) {
      seen = flow.pieces;
      heardAt = now;
    } else if (now - heardAt >= ms) {
      clearInterval(timer);
      controller.abort(new Error(`the provider was silent for ${ms} ms`));
    }
  };
  const timer = setInterval(look, ms / looks);
  return { signal: controller.signal, flow, stop: () => clearInterval(timer) };
}
