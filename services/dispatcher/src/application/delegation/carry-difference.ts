import type { Transaction } from '../ports/transaction.ts';

/** By how much more a session's exchanges cost after a correction; decimal text, US dollars. */
export interface SessionDifference {
  readonly session_id: string;
  readonly usd: string;
}

/** Carries a correction of what sub-agents cost to those who have counted it already, all the way up. */
export async function carryToParents(
  tx: Transaction,
  differences: readonly SessionDifference[],
): Promise<void> {
  await tx.query(
    `WITH RECURSIVE up AS (
       SELECT s.parent_id AS id, d.usd
       FROM jsonb_to_recordset($1::jsonb) AS d (session_id text, usd numeric) JOIN sessions s ON s.id = d.session_id
       WHERE s.reported_at IS NOT NULL AND s.parent_id IS NOT NULL
       UNION ALL
       SELECT s.parent_id, up.usd FROM up JOIN sessions s ON s.id = up.id
       WHERE s.reported_at IS NOT NULL AND s.parent_id IS NOT NULL)
     UPDATE sessions p SET delegated_usd = p.delegated_usd + more.usd
     FROM (SELECT id, sum(usd) AS usd FROM up GROUP BY id) more WHERE p.id = more.id`,
    [JSON.stringify(differences)],
  );
}
