import { foldCosts } from '../../application/costs/fold-costs.ts';
import type { Database } from '../../application/ports/transaction.ts';

/** Folds until nothing is left that other files' transactions hold back. */
export async function foldAll(database: Database): Promise<void> {
  const pending = `SELECT count(*)::int AS n FROM cost_entries WHERE xid >= (SELECT xid FROM cost_fold)`;
  for (;;) {
    await foldCosts(database);
    const [row] = await database.query<{ n: number }>(pending);
    if (row?.n === 0) return;
  }
}
