import type { RuntimeContext } from '../runtime.ts';

/** Tells a program that hangs from one that waits for something of ours. */
export interface QuietWatch {
  /** It has said something. */
  heard(): void;
  /** Whether it has said nothing for too long while nothing was under way; to be asked every few seconds. */
  hangs(): boolean;
}

/** @param underWay exchanges and calls that it may be waiting for */
export function createQuietWatch(
  { clock, programQuietMs }: Pick<RuntimeContext, 'clock' | 'programQuietMs'>,
  underWay: () => number,
): QuietWatch {
  let quietSince = clock.monotonicMs();
  const heard = (): void => {
    quietSince = clock.monotonicMs();
  };
  return {
    heard,
    hangs: () => {
      if (underWay() > 0) heard();
      return clock.monotonicMs() - quietSince >= programQuietMs;
    },
  };
}
