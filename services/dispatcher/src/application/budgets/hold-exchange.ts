import { extendableExhaustion } from '@lemniscate/shared/budget/extendable.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import { lockLiveAttempt } from '../events/live-attempt.ts';
import { holdUntil } from '../events/hold-until.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { LiveEvents } from '../ports/live-events.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { askForExtension } from './ask-extension.ts';
import type { AskExtensionDeps } from './ask-extension.ts';
import { readWaitedMs } from './read-waited.ts';

export interface HoldDeps extends AskExtensionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly live: LiveEvents;
  readonly clock: Clock;
}

/** Clients wait five minutes for the head of an answer; whoever still waits then asks again. Milliseconds. */
const holdMs = 4 * 60_000;

/**
 * Holds a model exchange back while the budget is used up and a person can extend it. Returns when it may be begun or
 * can no longer be saved; whoever begins it checks all budgets again.
 * @throws CodedError `awaiting_extension` when nobody has answered yet, `attempt_stale`
 */
export async function holdWhileExtendable(deps: HoldDeps, claim: AttemptClaim): Promise<void> {
  const wait = { ms: holdMs, gone: new AbortController().signal };
  const free = await holdUntil(deps, claim.sessionId, wait, async () =>
    (await mustWait(deps, claim)) ? null : true,
  );
  if (free !== null) return;
  throw awaitingExtension(claim);
}

function awaitingExtension({ sessionId }: AttemptClaim): CodedError {
  return new CodedError(
    'awaiting_extension',
    `Session ${sessionId} has used up its budget and waits for its person.`,
    { session: sessionId },
  );
}

async function mustWait(deps: HoldDeps, claim: AttemptClaim): Promise<boolean> {
  const { waits, asked } = await deps.database.transaction(async (tx) => {
    const session = await lockWithWaited(tx, claim);
    const exhausted = extendableExhaustion(session);
    if (exhausted === null) return { waits: false, asked: false };
    // It has waited so long that it is to be put away: the exchange must not hold it here.
    if (session.pause_requested !== null) throw awaitingExtension(claim);
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
