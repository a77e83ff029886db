import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import { createBackoff, sleep } from '../backoff.ts';

/** What gets better by waiting: the fleet's own parts are away for a while. */
const passing: readonly ErrorCode[] = ['service_unreachable', 'storage_failed', 'unavailable', 'internal'];

/** Repeats a step while what it needs is away, until the signal says that it has taken too long. */
export async function persistently<Value>(signal: AbortSignal, step: () => Promise<Value>): Promise<Value> {
  const backoff = createBackoff(200, 5000);
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (signal.aborted || !isCodedError(error) || !passing.includes(error.code)) throw error;
      await sleep(backoff.next(), signal);
    }
  }
}
