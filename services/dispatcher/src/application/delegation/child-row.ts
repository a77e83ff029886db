import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A sub-agent's session, as its parent's permit sees it. */
export interface ChildRow extends Record<string, unknown> {
  readonly id: string;
  readonly state: SessionState;
  readonly reason: string | null;
  readonly message: string | null;
  readonly actions_used: number;
  readonly commands_used: number;
  readonly summary: DiffSummary | null;
  readonly patch: Buffer | null;
}

/** The sub-agent that this very call has opened, whichever attempt it was; null where there is none yet. */
export async function findChild(
  tx: Transaction,
  parentId: string,
  callId: string,
  argumentsDigest: string,
): Promise<ChildRow | null> {
  const [row] = await tx.query<ChildRow>(
    `SELECT s.id, s.state, s.reason, s.message, s.actions_used, s.commands_used, d.summary, d.patch
     FROM sessions s LEFT JOIN diffs d ON d.session_id = s.id
     WHERE s.parent_id = $1 AND s.delegated_call = $2 AND s.delegated_digest = $3`,
    [parentId, callId, argumentsDigest],
  );
  return row ?? null;
}

/**
 * A session that goes on elsewhere asks again under new ids: the sub-agent that a lost attempt has opened for the same
 * task, and whose report nobody has read, moves to the new call. Under the parent's lock.
 */
export async function adoptChild(
  tx: Transaction,
  { sessionId, attempt }: { readonly sessionId: string; readonly attempt: number },
  callId: string,
  argumentsDigest: string,
): Promise<ChildRow | null> {
  if (attempt === 1) return null;
  const adopted = await tx.query(
    `UPDATE sessions SET delegated_call = $3 WHERE id = (
       SELECT w.id FROM sessions w WHERE w.parent_id = $1 AND w.delegated_digest = $4
         AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.session_id = $1 AND c.call_id = w.delegated_call
           AND (c.attempt >= $2 OR c.answer IS NOT NULL))
       ORDER BY w.created_at, w.id LIMIT 1)
     RETURNING id`,
    [sessionId, attempt, callId, argumentsDigest],
  );
  return adopted.length === 0 ? null : findChild(tx, sessionId, callId, argumentsDigest);
}

export async function countChildren(tx: Transaction, parentId: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM sessions WHERE parent_id = $1',
    [parentId],
  );
  return row?.n ?? 0;
}
