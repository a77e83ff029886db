import { isPause } from '../../checkpoints/pause-wish.ts';
import type { RuntimeContext } from '../runtime.ts';
import { isInterrupt } from '../turn-interrupt.ts';

/** Told when a request of a program got no answer: that is a fault unless the program is about to be cut short. */
export const unanswered =
  ({ signal, log }: Pick<RuntimeContext, 'signal' | 'log'>) =>
  (error: unknown): void => {
    if (signal.aborted || isPause(error) || isInterrupt(error)) return;
    log.warn({ err: error }, 'a request of the program stays unanswered');
  };
