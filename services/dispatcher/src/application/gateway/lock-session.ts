import type { SpendingSession } from '@lemniscate/shared/budget/exchange-budget.ts';
import { staleAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';

// The rows of sessions are wide, and most of what a model exchange cost beside its pieces was to read them. These locks
// read what an exchange asks of a session, and lock what `lockLiveAttempt` and `lockSession` lock.

/** A session as its budgets see it, but for what it has waited. */
export interface LockedSpending extends Omit<SpendingSession, 'waited_ms'> {
  readonly id: string;
  readonly interactive: boolean;
  readonly summary_at: string | null;
}

type SpendingRow = Omit<LockedSpending, 'policy'> & {
  readonly budgets: SpendingSession['policy']['budgets'];
} & Record<string, unknown>;

/**
 * Locks session and attempt before an exchange. Sent before the first await.
 * @throws CodedError `attempt_stale`
 */
export async function lockSpending(tx: Transaction, claim: AttemptClaim): Promise<LockedSpending> {
  const [row] = await tx.query<SpendingRow>(
    `SELECT s.id, s.surface, s.interactive, s.stop_reason, s.summary_at, s.actions_used, s.commands_used,
       s.extensions_used, s.running_at, s.budget_from, s.bounds, s.policy -> 'budgets' AS budgets,
       clock_timestamp() AS now
     FROM sessions s JOIN attempts a ON a.session_id = s.id AND a.attempt = s.attempt
     WHERE s.id = $1 AND a.attempt = $2 AND a.server_id = $3 AND a.state = 'live' AND s.state IN ('starting', 'running')
     FOR UPDATE OF s, a`,
    [claim.sessionId, claim.attempt, claim.serverId],
  );
  if (row === undefined) throw staleAttempt(claim);
  const { budgets, ...session } = row;
  return { ...session, policy: { budgets } };
}

/** A session as the settlement of an exchange sees it. */
export type SettledSession = Pick<
  SessionRow,
  'id' | 'project_id' | 'agent' | 'opened_by' | 'runtime' | 'state'
> &
  Record<string, unknown>;

/**
 * Locks a session, ended or not, to settle an exchange. Sent before the first await.
 * @throws CodedError `session_unknown`
 */
export async function lockToSettle(tx: Transaction, sessionId: string): Promise<SettledSession> {
  const [row] = await tx.query<SettledSession>(
    'SELECT id, project_id, agent, opened_by, runtime, state FROM sessions WHERE id = $1 FOR UPDATE',
    [sessionId],
  );
  if (row === undefined) throw unknownSession(sessionId);
  return row;
}
