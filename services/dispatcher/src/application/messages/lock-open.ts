import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { SessionDecision } from '@lemniscate/shared/identity/who-decides.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';

/**
 * Locks a session that has not ended for somebody who may decide this about it, by the table of decisions.
 * @throws CodedError `forbidden`, `session_unknown`, `session_ended`
 */
export async function lockOpen(
  tx: Transaction,
  person: Person,
  sessionId: string,
  decision: SessionDecision = 'message',
): Promise<SessionRow> {
  const session = await lockSession(tx, sessionId);
  requireDecider(person, decision, session);
  if (!sessionHasEnded(session.state)) return session;
  throw new CodedError('session_ended', `Session ${sessionId} has ended as ${session.state} already.`, {
    session: sessionId,
    state: session.state,
  });
}
