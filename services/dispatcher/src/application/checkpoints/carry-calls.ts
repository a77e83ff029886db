import type { Transaction } from '../ports/transaction.ts';

/**
 * Calls that wait, for a decision or for their turn, move along with a session that goes on from a pause: they are the
 * same calls, proposed once and counted once.
 */
export async function carryCalls(tx: Transaction, sessionId: string, attempt: number): Promise<void> {
  await tx.query(
    `UPDATE tool_calls t SET attempt = $2
     FROM (SELECT attempt, cause FROM checkpoints WHERE session_id = $1 ORDER BY number DESC LIMIT 1) c
     WHERE t.session_id = $1 AND t.attempt >= c.attempt AND t.attempt < $2 AND c.cause = 'pause'
       AND t.state IN ('generating', 'generated') AND t.answer IS NULL AND t.ended_at IS NULL
       AND NOT EXISTS (
         SELECT FROM attempts a WHERE a.session_id = $1 AND a.attempt > c.attempt AND a.attempt < $2
           AND a.state <> 'refused'
       )`,
    [sessionId, attempt],
  );
}
