import type { PauseReason } from '@lemniscate/shared/session/end.ts';
import type { Transaction } from '../ports/transaction.ts';

/** What a session can wait for, by the reason for which it is then paused. */
export type WaitReason = Exclude<PauseReason, 'by_person' | 'drained'>;

/** For each reason, since when the session `s` waits for it: one row while it does, none otherwise. */
const waits: Readonly<Record<WaitReason, string>> = {
  awaiting_approval: `SELECT min(created_at) FROM approvals WHERE session_id = s.id AND state = 'waiting'`,
  awaiting_extension: `SELECT min(asked_at) FROM budget_extensions WHERE session_id = s.id AND state = 'waiting'`,
  awaiting_sub_agent: `SELECT min(c.created_at) FROM sessions c
    WHERE c.parent_id = s.id AND c.state IN ('pending', 'starting', 'running', 'paused')`,
  awaiting_message: `SELECT min(asked_at) FROM session_messages WHERE session_id = s.id AND state = 'awaited'`,
};

/** The waits of the session `s`, for statements that name it so: `reason` and `since`. */
export const waitsOfSession = `(${Object.entries(waits)
  .map(([reason, since]) => `SELECT '${reason}' AS reason, (${since}) AS since`)
  .join(' UNION ALL ')})`;

/** What the session waits for, the oldest wait first. Sent before the first await. */
export async function findWait(
  tx: Transaction,
  sessionId: string,
): Promise<{ readonly reason: WaitReason } | null> {
  const [row] = await tx.query<{ reason: WaitReason }>(
    `SELECT w.reason FROM sessions s CROSS JOIN LATERAL ${waitsOfSession} w
     WHERE s.id = $1 AND w.since IS NOT NULL ORDER BY w.since LIMIT 1`,
    [sessionId],
  );
  return row ?? null;
}
