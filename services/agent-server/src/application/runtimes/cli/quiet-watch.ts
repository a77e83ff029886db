import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RuntimeContext } from '../runtime.ts';

/** A program that says nothing for so long while nothing of ours is under way hangs. Milliseconds. */
const quietMs = 10 * 60_000;

/** Bounds the wait for a program's next word. */
export interface QuietWatch {
  /** @throws CodedError `runtime_failed` */
  next<Value>(word: Promise<Value>): Promise<Value>;
}

/** @param underWay exchanges and calls that it may be waiting for */
export function createQuietWatch(
  { clock }: Pick<RuntimeContext, 'clock'>,
  underWay: () => number,
  afterMs = quietMs,
): QuietWatch {
  return {
    next: async (word) => {
      const hung = Promise.withResolvers<never>();
      let quietSince = clock.monotonicMs();
      const timer = setInterval(
        () => {
          if (underWay() > 0) quietSince = clock.monotonicMs();
          if (clock.monotonicMs() - quietSince < afterMs) return;
          hung.reject(
            new CodedError(
              'runtime_failed',
              `The agent’s program has said nothing for ${Math.round(afterMs / 60_000)} minutes.`,
            ),
          );
        },
        Math.min(5000, afterMs / 2),
      );
      try {
        return await Promise.race([word, hung.promise]);
      } finally {
        clearInterval(timer);
      }
    },
  };
}
