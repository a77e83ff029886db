import type { RuntimeContext } from '../runtime.ts';

/** What cuts the calls of a program short: the session's end, a person's interrupt or pause, and we ourselves. */
export interface CutShort {
  /** For a call that begins now. */
  signal(): AbortSignal;
  /** Cuts what is under way; what begins later is not touched. */
  now(reason: unknown): void;
}

export function createCutShort({
  signal,
  interrupt,
  checkpoints,
}: Pick<RuntimeContext, 'signal' | 'interrupt' | 'checkpoints'>): CutShort {
  let own = new AbortController();
  return {
    signal: () => AbortSignal.any([signal, interrupt.signal(), checkpoints.wish.urgentSignal(), own.signal]),
    now: (reason) => {
      own.abort(reason);
      own = new AbortController();
    },
  };
}
