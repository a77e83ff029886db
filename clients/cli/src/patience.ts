import { setTimeout as delay } from 'node:timers/promises';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** How long a person's command waits for a fleet that is away. */
export const patienceMs = 5 * 60 * 1000;

const firstPauseMs = 200;
const longestPauseMs = 3_000;

/** How often it was tried before it worked. */
export interface Patient<Result> {
  readonly result: Result;
  readonly failures: number;
}

/**
 * Does something that may be done again, as long as the fleet is away: through a restart of the dispatcher nobody shall
 * lose what they have just typed.
 * @param onAway told once, with the first failure
 * @throws what was thrown last when the fleet stays away; every other refusal at once
 */
export async function patiently<Result>(
  work: () => Promise<Result>,
  options: {
    readonly signal: AbortSignal;
    readonly onAway: (error: unknown) => void;
    readonly forMs?: number;
  },
): Promise<Patient<Result>> {
  const deadline = performance.now() + (options.forMs ?? patienceMs);
  let pause = firstPauseMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return { result: await work(), failures };
    } catch (error) {
      options.signal.throwIfAborted();
      const isAway = isCodedError(error) && error.status > 500;
      if (!isAway || performance.now() > deadline) throw error;
      if (failures === 0) options.onAway(error);
    }
    await delay(pause, undefined, { signal: options.signal });
    pause = Math.min(pause * 2, longestPauseMs);
  }
}
