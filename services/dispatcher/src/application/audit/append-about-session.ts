import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Transaction } from '../ports/transaction.ts';

/** What an entry about a session needs to know of it. Its row is locked by the caller. */
export interface SubjectSession {
  readonly id: string;
  readonly project_id: string;
  readonly state: SessionState;
}

/**
 * Appends to the session's own chain while that is open, and behind its close to the project's review chain. The one
 * way for everything that may come after a session's end: a late exchange, a diff decision, an erasure.
 */
export async function appendAboutSession(
  audit: AuditLog,
  tx: Transaction,
  session: SubjectSession,
  drafts: readonly AuditDraft[],
): Promise<void> {
  if (sessionHasEnded(session.state)) return appendToReview(audit, tx, session, drafts);
  return audit.append(tx, sessionChain(session.id), drafts);
}

/**
 * Appends to the project's review chain. Each entry names its session and cites the digest with which the session's
 * chain closed, so that it cannot be moved to another history of that session: the verifier holds the two together.
 */
export async function appendToReview(
  audit: AuditLog,
  tx: Transaction,
  session: Pick<SubjectSession, 'id' | 'project_id'>,
  drafts: readonly AuditDraft[],
): Promise<void> {
  const head = await audit.head(tx, sessionChain(session.id));
  const cited = {
    session: session.id,
    sessionChainDigest: head?.digest ?? null,
    sessionChainClosed: head?.closed ?? false,
  };
  await audit.append(
    tx,
    reviewChain(session.project_id),
    drafts.map((draft) => ({ ...draft, body: { ...draft.body, ...cited } })),
  );
}
