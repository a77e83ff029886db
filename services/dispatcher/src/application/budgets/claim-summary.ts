import { isSummaryDue } from '@lemniscate/shared/budget/summary-due.ts';
import type { LiveAttempt } from '../events/live-attempt.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Whether this exchange is the one with which a session whose budget is used up says how far it came. It is given once
 * and needs no bound of its own: whatever tool the answer asks for gets no permit any more. Under the session's lock.
 */
export async function claimSummary(
  tx: Transaction,
  session: Pick<LiveAttempt, 'id' | 'surface' | 'stop_reason' | 'summary_at'>,
): Promise<boolean> {
  const due = isSummaryDue(session);
  if (due) await tx.query('UPDATE sessions SET summary_at = now() WHERE id = $1', [session.id]);
  return due;
}
