import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { NextMessageAnswer } from '@lemniscate/shared/protocol/next-message.ts';
import { createBackoff, sleep } from './backoff.ts';
import type { Lease } from './lease.ts';
import type { Dispatcher } from './ports/dispatcher.ts';
import type { Log } from './ports/log.ts';

/** Where a session that has answered asks what its person says next. */
export interface MessageDesk {
  /**
   * Asks until there is a word: while nobody speaks, and while the dispatcher is away.
   * @param after number of the last message that the session has
   * @throws CodedError `attempt_stale`; the signal's reason
   */
  next(after: number, signal: AbortSignal): Promise<Exclude<NextMessageAnswer, { kind: 'waiting' }>>;
}

/** How long the dispatcher may hold a request while nobody speaks. */
const waitMs = 25_000;
const betweenQuestionsMs = 50;
const passing: readonly string[] = ['service_unreachable', 'unavailable', 'internal', 'storage_failed'];

export function createMessageDesk(deps: {
  readonly held: Held;
  readonly dispatcher: Pick<Dispatcher, 'nextMessage'>;
  readonly lease: Lease;
  readonly log: Log;
}): MessageDesk {
  return {
    next: async (after, signal) => {
      const backoff = createBackoff(100, 3000);
      for (;;) {
        await deps.lease.hold(signal);
        try {
          const answer = await deps.dispatcher.nextMessage(deps.held, { after, waitMs }, signal);
          if (answer.kind !== 'waiting') return answer;
          backoff.reset();
          await sleep(betweenQuestionsMs, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!isCodedError(error) || !passing.includes(error.code)) throw error;
          deps.log.warn({ ...deps.held, err: error }, 'no message yet; asking again');
          await sleep(backoff.next(), signal);
        }
      }
    },
  };
}
