import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createBackoff, sleep } from '../backoff.ts';
import { cut } from '../text-stream.ts';
import type { Ending } from './ending.ts';
import type { SessionContext } from './session-context.ts';

const deadlineMs = 60_000;
const messageLength = 16_000;

/**
 * Gives a session back that could not go on here from its checkpoint, so that it is tried elsewhere. If that cannot be
 * told, the lease's end tells it.
 */
export async function giveBack({ deps, held, interruption }: SessionContext, ending: Ending): Promise<void> {
  const signal = AbortSignal.any([interruption.everything, AbortSignal.timeout(deadlineMs)]);
  const why = { reason: ending.reason, message: cut(ending.message, messageLength).toWellFormed() };
  const backoff = createBackoff(100, 5000);
  deps.log.error({ ...held, ...why }, 'a session could not go on from its checkpoint here');
  try {
    for (;;) {
      try {
        return await deps.dispatcher.giveBack(held, why, signal);
      } catch (error) {
        if (signal.aborted || isCodedError(error, 'attempt_stale')) throw error;
        await sleep(backoff.next(), signal);
      }
    }
  } catch (error) {
    deps.log.warn({ ...held, err: error }, 'a session could not be given back');
  }
}
