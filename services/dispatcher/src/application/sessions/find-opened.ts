import type { Transaction } from '../ports/transaction.ts';

/** The session that a caller opened under an idempotency key; null: none was opened. */
export async function findOpenedSession(
  tx: Transaction,
  caller: string,
  key: string,
): Promise<string | null> {
  const [row] = await tx.query<{ session_id: string }>(
    'SELECT session_id FROM idempotency_keys WHERE caller = $1 AND key = $2',
    [caller, key],
  );
  return row?.session_id ?? null;
}
