import type { Removed } from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { appendToReview } from '../audit/append-about-session.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { Signals } from '../signals.ts';
import { isHeld, takeHoldTurn } from './holds.ts';
import { addRemoved, stores } from './stores.ts';

export interface EraseDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly signals: Signals;
}

/**
 * Erases what a session holds: words, logs, diff, retained content, the repository that was sent for it. What the audit
 * log, the costs and the counts say of it stays, and that it was erased is an entry.
 * @returns what was removed, by store
 * @throws CodedError `session_unknown`; `conflict` while it runs, or a legal hold stands over it
 */
export async function eraseSession(deps: EraseDeps, person: Person, sessionId: string): Promise<Removed> {
  const removed = await deps.database.transaction((tx) => eraseWithin(deps, tx, person.subject, sessionId));
  deps.signals.send('erased', undefined);
  return removed;
}

/** The same as part of a larger erasure; one that was erased before is not erased again. */
export async function eraseWithin(
  { audit }: Pick<EraseDeps, 'audit'>,
  tx: Transaction,
  subject: string,
  sessionId: string,
  rule?: string,
): Promise<Removed> {
  await takeHoldTurn(tx, 'removing');
  const session = await lockSession(tx, sessionId);
  if (!sessionHasEnded(session.state))
    throw new CodedError(
      'conflict',
      `Session ${sessionId} is ${session.state}. Stop it first, then erase it.`,
      {
        session: sessionId,
      },
    );
  const [state] = await tx.query<{ held: boolean; erased: boolean }>(
    `SELECT ${isHeld} AS held, erased_at IS NOT NULL AS erased FROM sessions s WHERE id = $1`,
    [sessionId],
  );
  if (state?.held === true)
    throw new CodedError('conflict', `A legal hold stands over session ${sessionId}. Nothing was erased.`, {
      session: sessionId,
    });
  let removed: Removed = {};
  for (const [store, remove] of Object.entries(stores)) {
    // what an agent remembers is to outlive its sessions: a rule of its own ends it, or somebody who means this session
    if (store === 'memory' && rule === 'sessions') continue;
    removed = addRemoved(removed, await remove(tx, session));
  }
  await tx.query('UPDATE sessions SET erased_at = coalesce(erased_at, now()) WHERE id = $1', [sessionId]);
  if (state?.erased === true) return removed;
  await appendToReview(audit, tx, session, [
    { type: 'session.erased', subject, body: { removed, ...(rule === undefined ? {} : { rule }) } },
  ]);
  return removed;
}
