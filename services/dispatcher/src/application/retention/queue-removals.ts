import type { Transaction } from '../ports/transaction.ts';

/** Objects that may have lost their last row: looked at behind the commit, and removed when they have. */
export async function queueRemovals(tx: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.query('INSERT INTO object_removals (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [
    [...new Set(keys)],
  ]);
}
