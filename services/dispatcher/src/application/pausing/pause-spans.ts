import type { Transaction } from '../ports/transaction.ts';

/** From now on the session cannot work; the time until it runs again is none of its budget's. Idempotent. */
export async function openPause(tx: Transaction, sessionId: string, reason: string): Promise<void> {
  await tx.query(
    `INSERT INTO session_pauses (session_id, number, reason)
     SELECT $1, count(*) + 1, $2 FROM session_pauses WHERE session_id = $1
     ON CONFLICT (session_id) WHERE until IS NULL DO NOTHING`,
    [sessionId, reason],
  );
}

/** It works again, or has ended. Sent before the first await. */
export async function closePause(tx: Transaction, sessionId: string): Promise<void> {
  await tx.query('UPDATE session_pauses SET until = now() WHERE session_id = $1 AND until IS NULL', [
    sessionId,
  ]);
}
