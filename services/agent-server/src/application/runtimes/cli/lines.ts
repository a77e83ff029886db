import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { CliProcess } from './cli-process.ts';

/** A program's lines, for a reader that is interrupted in its wait: what it waited for is not lost. */
export interface Lines {
  /** Waits for the next line, until something on the way is aborted or the time is over. True: `take` has it. */
  arrived(signals: readonly AbortSignal[], withinMs: number): Promise<boolean>;
  /** The line that has arrived; null at the end. @throws CodedError `runtime_failed` for a line without an end */
  take(): Promise<JsonObject | null>;
}

export function createLines({ messages }: Pick<CliProcess, 'messages'>): Lines {
  let next: Promise<IteratorResult<JsonObject>> | null = null;
  const waiting = (): Promise<IteratorResult<JsonObject>> => {
    if (next !== null) return next;
    next = messages.next();
    // Observed by `take`; until then its failure must not be nobody's.
    next.catch(() => undefined);
    return next;
  };
  return {
    arrived: async (signals, withinMs) => {
      const cut = Promise.withResolvers<false>();
      const onCut = (): void => cut.resolve(false);
      const timer = setTimeout(onCut, withinMs);
      for (const signal of signals) signal.addEventListener('abort', onCut, { once: true });
      try {
        const there = waiting().then(
          () => true,
          () => true,
        );
        return signals.some(({ aborted }) => aborted) ? false : await Promise.race([there, cut.promise]);
      } finally {
        clearTimeout(timer);
        for (const signal of signals) signal.removeEventListener('abort', onCut);
      }
    },
    take: async () => {
      const taken = await waiting();
      next = null;
      return taken.done === true ? null : taken.value;
    },
  };
}
