import type { Transaction } from '../ports/transaction.ts';

/**
 * Approvals of the calls that an attempt was lost in are used up: the same call, proposed again, needs a fresh one. The
 * old row keeps its decision under the lost attempt's name. The caller holds the session's lock.
 */
export async function useUpApprovals(tx: Transaction, sessionId: string, attempt: number): Promise<void> {
  await tx.query(
    `UPDATE approvals a SET call_id = a.call_id || '@' || c.attempt
     FROM tool_calls c
     WHERE a.session_id = $1 AND c.session_id = $1 AND c.attempt = $2 AND c.call_id = a.call_id
       AND c.abandoned_at IS NOT NULL AND a.state <> 'waiting'`,
    [sessionId, attempt],
  );
}
