import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { hasRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';

/**
 * Locks a session for somebody who may speak to it: whoever opened it, or an approver of its project.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`
 */
export async function lockOpen(tx: Transaction, person: Person, sessionId: string): Promise<SessionRow> {
  const session = await lockSession(tx, sessionId);
  if (
    person.subject !== session.opened_by &&
    !hasRole(person, session.project_id, 'approver', 'project_admin', 'administrator')
  )
    throw new CodedError('forbidden', `Session ${sessionId} was opened by ${session.opened_by}.`, {
      session: sessionId,
    });
  if (!sessionHasEnded(session.state)) return session;
  throw new CodedError('session_ended', `Session ${sessionId} has ended as ${session.state} already.`, {
    session: sessionId,
    state: session.state,
  });
}
