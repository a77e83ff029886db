import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import { lockLiveAttempt } from '../events/live-attempt.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { LiveEvents } from '../ports/live-events.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { askForExtension, canAskFor } from './ask-extension.ts';
import type { AskExtensionDeps } from './ask-extension.ts';
import { readWaitedMs } from './read-waited.ts';
import { exhaustedActions, exhaustedTime } from './session-budget.ts';
import type { ExhaustedBudget } from './session-budget.ts';

export interface HoldDeps extends AskExtensionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly live: LiveEvents;
  readonly clock: Clock;
}

/** Clients wait five minutes for the head of an answer; whoever still waits then asks again. Milliseconds. */
const holdMs = 4 * 60_000;
/** A decision made in another dispatcher is seen at the latest after this, whatever happens to signals. */
const recheckMs = 1_000;

/**
 * Holds a model exchange back while the budget is used up and a person can extend it. Returns when it may be begun or
 * can no longer be saved; whoever begins it checks all budgets again.
 * @throws CodedError `awaiting_extension` when nobody has answered yet, `attempt_stale`
 */
export async function holdWhileExtendable(deps: HoldDeps, claim: AttemptClaim): Promise<void> {
  let wake = Promise.withResolvers<void>();
  const stopListening = deps.live.subscribe(claim.sessionId, () => wake.resolve());
  try {
    const deadline = deps.clock.monotonicMs() + holdMs;
    while (await mustWait(deps, claim)) {
      const left = deadline - deps.clock.monotonicMs();
      if (left <= 0)
        throw new CodedError(
          'awaiting_extension',
          `Session ${claim.sessionId} has used up its budget and waits for its person.`,
          { session: claim.sessionId },
        );
      const timer = setTimeout(wake.resolve, Math.min(left, recheckMs));
      await wake.promise.finally(() => clearTimeout(timer));
      wake = Promise.withResolvers();
    }
  } finally {
    stopListening();
  }
}

async function mustWait(deps: HoldDeps, claim: AttemptClaim): Promise<boolean> {
  const { waits, asked } = await deps.database.transaction(async (tx) => {
    const session = await lockWithWaited(tx, claim);
    const exhausted = extendableExhaustion(session);
    if (exhausted === null) return { waits: false, asked: false };
    return { waits: true, asked: await askForExtension(deps, tx, session, exhausted) };
  });
  if (asked) deps.events.announce(claim.sessionId);
  return waits;
}

async function lockWithWaited(tx: Transaction, claim: AttemptClaim): Promise<LiveAttempt> {
  const [session, waited] = await Promise.all([
    lockLiveAttempt(tx, claim),
    readWaitedMs(tx, claim.sessionId),
  ]);
  return { ...session, waited_ms: waited };
}

function extendableExhaustion(session: LiveAttempt): ExhaustedBudget | null {
  if (session.stop_reason !== null) return null;
  const { budgets } = session.policy;
  const exhausted = exhaustedTime(budgets, session) ?? exhaustedActions(budgets, session);
  return exhausted !== null && canAskFor(session, exhausted) ? exhausted : null;
}
