import type { Database, Transaction } from './ports/transaction.ts';

/**
 * A look of a timer at the head of something long, by an index that has its order. Planned freely it is judged by statistics
 * of an hour ago, when little waited: then all that waits is read, sorted and thrown away but for the head. The statement says
 * in ORDER BY what the order of its index is.
 */
export function lookInOrder<Row extends Record<string, unknown>>(
  database: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return database.transaction(async (tx) => {
    const [, rows] = await Promise.all([goByIndex(tx), tx.query<Row>(text, values)]);
    return rows;
  });
}

/** For the rest of the transaction. Sent before the first await. */
export async function goByIndex(tx: Transaction): Promise<void> {
  await tx.query(`SELECT ${indexOnly}`);
}

/** Part of a `SELECT`: the same. */
export const indexOnly = ['seqscan', 'bitmapscan', 'sort', 'incremental_sort']
  .map((way) => `set_config('enable_${way}', 'off', true)`)
  .join(', ');

/**
 * Part of a `SELECT`: for the rest of the transaction each statement is planned once a connection. Postgres would else plan anew
 * whatever takes lists, for ever: a plan for three ids looks cheaper than the kept one, which is for ten. For transactions whose
 * statements find all rows by their keys.
 */
export const keepPlans = `set_config('plan_cache_mode', 'force_generic_plan', true)`;
