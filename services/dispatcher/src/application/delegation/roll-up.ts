import type { Transaction } from '../ports/transaction.ts';

/**
 * What a sub-agent that has ended used counts for its parent from now on, once. Under the parent's lock.
 */
export async function rollUp(tx: Transaction, parentId: string, childId: string): Promise<void> {
  await tx.query(
    `WITH reported AS (
       UPDATE sessions SET reported_at = now() WHERE id = $2 AND reported_at IS NULL
       RETURNING actions_used, commands_used, delegated_tokens, delegated_usd
     ), used AS (
       SELECT coalesce(sum(greatest(reserved_tokens * (NOT coalesce(complete, false))::int,
           coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0)
           + coalesce(cache_write_tokens, 0))), 0) AS tokens,
         coalesce(sum(CASE WHEN complete THEN cost_usd
           ELSE greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)) END), 0) AS usd
       FROM usage WHERE session_id = $2
     )
     UPDATE sessions p SET actions_used = p.actions_used + r.actions_used,
       commands_used = p.commands_used + r.commands_used,
       delegated_tokens = p.delegated_tokens + r.delegated_tokens + used.tokens,
       delegated_usd = p.delegated_usd + r.delegated_usd + used.usd
     FROM reported r, used WHERE p.id = $1`,
    [parentId, childId],
  );
}
