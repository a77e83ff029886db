import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { PermitAnswer, PermitRequest } from '@lemniscate/shared/protocol/permit.ts';
import { createBackoff, sleep } from '../backoff.ts';
import type { Lease } from '../lease.ts';
import type { Dispatcher } from '../ports/dispatcher.ts';
import type { Log } from '../ports/log.ts';

/** A permit's final word. */
export type PermitDecision = Exclude<PermitAnswer, { verdict: 'waiting' }>;

/** Where a tool call in `generated` asks whether it may run. No permit, no `calling`. */
export interface PermitDesk {
  /**
   * Asks until there is a decision: while nobody has decided, and while the dispatcher is away.
   * @param onWaiting is told once when a person has to decide
   * @throws CodedError `attempt_stale` and whatever says that asking again cannot help; the signal's reason
   */
  ask(
    proposal: Omit<PermitRequest, 'waitMs'>,
    signal: AbortSignal,
    onWaiting: () => void,
  ): Promise<PermitDecision>;
}

/** How long the dispatcher may hold a request while a person decides. */
const waitMs = 25_000;

/** A dispatcher that does not hold the request back must not be asked in a hot loop. */
const betweenQuestionsMs = 50;

const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'service_unreachable',
  'unavailable',
  'internal',
  'storage_failed',
]);

export function createPermitDesk(deps: {
  readonly held: Held;
  readonly dispatcher: Pick<Dispatcher, 'askPermit'>;
  readonly lease: Lease;
  readonly log: Log;
}): PermitDesk {
  return {
    ask: async (proposal, signal, onWaiting) => {
      const backoff = createBackoff(100, 3000);
      let told = false;
      for (;;) {
        await deps.lease.hold(signal);
        try {
          const answer = await deps.dispatcher.askPermit(deps.held, { ...proposal, waitMs }, signal);
          if (answer.verdict !== 'waiting') return answer;
          if (!told) onWaiting();
          told = true;
          backoff.reset();
          await sleep(betweenQuestionsMs, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!isCodedError(error) || !passing.has(error.code)) throw error;
          deps.log.warn({ ...deps.held, callId: proposal.callId, err: error }, 'no permit yet; asking again');
          await sleep(backoff.next(), signal);
        }
      }
    },
  };
}
