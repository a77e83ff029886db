import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { listWaitingApprovals } from './approval-row.ts';

export interface FollowWaitingDeps {
  readonly database: Transaction;
  readonly signals: Signals;
}

/** What was asked and decided through another dispatcher is seen after this at the latest. */
const lookAgainMs = 1_000;

/**
 * The waiting list as it is, and again each time it has changed. It is a state and not a log: a reader that comes back
 * misses nothing that still matters.
 */
export async function* followWaiting(
  deps: FollowWaitingDeps,
  projects: readonly string[] | null,
  gone: AbortSignal,
): AsyncGenerator<readonly ApprovalView[]> {
  let wake = Promise.withResolvers<void>();
  const wakeUp = (): void => wake.resolve();
  const stopListening = deps.signals.on('approvals', wakeUp);
  gone.addEventListener('abort', wakeUp);
  let shown: string | null = null;
  try {
    while (!gone.aborted) {
      // Renewed before the look: what happens after it wakes the next wait.
      wake = Promise.withResolvers();
      const waiting = await listWaitingApprovals(deps.database, projects);
      const state = waiting.map(({ id, approvedBy }) => `${id}/${approvedBy.length}`).join();
      if (state !== shown) yield waiting;
      shown = state;
      const timer = setTimeout(wakeUp, lookAgainMs);
      await wake.promise.finally(() => clearTimeout(timer));
    }
  } finally {
    stopListening();
    gone.removeEventListener('abort', wakeUp);
  }
}
