import type { Transaction } from '../ports/transaction.ts';

/** Held while costs are corrected; shared by what measures usage rows and writes the sum down. */
export const correctionsLock = `hashtext('lemniscate-cost-corrections')`;

/**
 * What an exchange holds of budgets. What cannot be priced holds what was reserved for it: it is never free, and a
 * correction puts its cost in that place.
 */
export const heldUsd = `CASE WHEN complete THEN coalesce(cost_usd, reserved_usd, 0)
  ELSE greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)) END`;

/** What the session of the slice `c` used in its month. */
export const spentOfSlice = `(
  SELECT coalesce(sum(${heldUsd}), 0) FROM usage u
  WHERE u.session_id = c.session_id AND u.begun_at >= c.month AT TIME ZONE 'UTC'
    AND u.begun_at < (c.month + interval '1 month') AT TIME ZONE 'UTC')`;

/**
 * Measures slices that were given back again, after a correction of their sessions' usage. Slices that sessions still
 * hold are measured when they come back.
 */
export async function measureSlicesAgain(tx: Transaction, sessionIds: readonly string[]): Promise<void> {
  const budgets = await tx.query<{ scope: string; name: string; month: string; usd: string }>(
    `SELECT scope, name, month::text AS month, sum(more)::text AS usd
     FROM (SELECT c.scope, c.name, c.month, ${spentOfSlice} - c.granted_usd AS more FROM cost_slices c
       WHERE c.returned AND c.session_id = ANY ($1)) measured
     GROUP BY 1, 2, 3 ORDER BY 1, 2`,
    [sessionIds],
  );
  // One after the other, in the order in which sessions lock them.
  for (const { scope, name, month, usd } of budgets)
    await tx.query(
      `UPDATE cost_budgets SET granted_usd = greatest(0, granted_usd + $3)
       WHERE scope = $1 AND name = $2 AND month = $4`,
      [scope, name, usd, month],
    );
  await tx.query(
    `UPDATE cost_slices c SET granted_usd = ${spentOfSlice} WHERE c.returned AND c.session_id = ANY ($1)`,
    [sessionIds],
  );
}
