import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createBackoff, sleep } from './backoff.ts';

/**
 * Tries again what an object store that is away has failed: that costs time, and no session.
 * @param work is given the signal of its end; what may pass it throws as `storage_failed` with `mayPass` in the details
 * @param patienceMs after that the last failure is thrown
 * @throws what `work` throws and cannot pass; the signal's reason
 */
export async function outlast<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  { signal, patienceMs }: { readonly signal: AbortSignal; readonly patienceMs: number },
): Promise<Value> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const backoff = createBackoff(200, 5_000);
  for (;;) {
    try {
      return await work(over);
    } catch (error) {
      signal.throwIfAborted();
      if (!isCodedError(error, 'storage_failed') || error.details['mayPass'] !== true) throw error;
      await sleep(backoff.next(), over).catch(() => {
        signal.throwIfAborted();
        throw error;
      });
    }
  }
}
