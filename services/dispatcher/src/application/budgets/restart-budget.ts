import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { surfaceRules } from '@lemniscate/shared/session/surface.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import { findWaitingExtension } from './extension-row.ts';

/** Starts the session's counters from zero, under its lock. Tokens and money are not counters: they stay spent. */
export async function restartBudget(tx: Transaction, sessionId: string): Promise<void> {
  await tx.query(
    `UPDATE sessions SET actions_used = 0, extensions_used = 0, waited_ms = 0, summary_at = NULL,
       budget_from = CASE WHEN running_at IS NOT NULL THEN now() END
     WHERE id = $1`,
    [sessionId],
  );
}

/**
 * A client says under which run of its own it shows the session. The counters belong to a run: where the surface has it
 * so, another run (an editor that was restarted and loads yesterday's session) begins with fresh ones, on record. A
 * repeat changes nothing, and neither does a failover: the run is the session's, not the attempt's.
 * @returns whether the counters began anew
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`
 */
export async function attachClientRun(
  deps: { readonly database: Database; readonly audit: AuditLog },
  person: Person,
  sessionId: string,
  run: string,
): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    requireDecider(person, 'fresh_budget', session);
    if (sessionHasEnded(session.state))
      throw new CodedError('session_ended', `Session ${sessionId} has ended as ${session.state} already.`, {
        session: sessionId,
        state: session.state,
      });
    const [before] = await tx.query<{
      client_run: string | null;
      actions_used: number;
      extensions_used: number;
    }>('SELECT client_run, actions_used, extensions_used FROM sessions WHERE id = $1', [sessionId]);
    if (before?.client_run === run) return false;
    await tx.query('UPDATE sessions SET client_run = $2 WHERE id = $1', [sessionId, run]);
    const restarts =
      before?.client_run != null &&
      surfaceRules[session.surface].clientRestartRestartsBudget &&
      // a question that waits is answered by its person, not by a restart
      (await findWaitingExtension(tx, sessionId)) === null;
    if (!restarts) return false;
    await restartBudget(tx, sessionId);
    await deps.audit.append(tx, sessionChain(sessionId), [
      {
        type: 'budget.restarted',
        subject: person.subject,
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
        body: {
          cause: 'client_restarted',
          actions: before?.actions_used ?? 0,
          extensions: before?.extensions_used ?? 0,
        },
      },
    ]);
    return true;
  });
}
