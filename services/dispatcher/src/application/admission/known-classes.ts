import { poolOfClass } from '@lemniscate/shared/queue/placement-class.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Part of a `WITH RECURSIVE`: classes in which something waits, found by jumping through the index. */
export const classJumps = `known AS (
  (SELECT placement_class FROM outbox ORDER BY placement_class LIMIT 1)
  UNION ALL
  (SELECT next.placement_class FROM known, LATERAL (
     SELECT placement_class FROM outbox WHERE placement_class > known.placement_class
     ORDER BY placement_class LIMIT 1) next)
)`;

/** Pools for which something waits. */
export async function waitingPools(tx: Transaction): Promise<string[]> {
  const rows = await tx.query<{ placement_class: string }>(
    `WITH RECURSIVE ${classJumps} SELECT placement_class FROM known`,
  );
  return [...new Set(rows.map((row) => poolOfClass(row.placement_class)))];
}

/** Whether anything waits for a pool at all. */
export async function isAnyWaiting(tx: Transaction, pool: string): Promise<boolean> {
  const rows = await tx.query(
    `WITH RECURSIVE ${classJumps}
     SELECT 1 FROM known WHERE split_part(placement_class, ';', 1) = $1 LIMIT 1`,
    [pool],
  );
  return rows.length > 0;
}
