import type { SpentBudget } from '@lemniscate/shared/permit/judge-proposal.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';

/** What a session has used and may still use, from its usage rows. */
export interface UsageTotals extends Record<string, unknown> {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  /** Known cost, decimal text. */
  readonly cost_usd: string;
  /** Known cost, and the reservation of whatever is not finally known. */
  readonly held_usd: string;
  /** The part of it that exchanges hold which run. */
  readonly open_usd: string;
  /** Known tokens of ended exchanges and sub-agents; of a cut exchange at least what it had reserved. */
  readonly settled_tokens: number;
  /** Reserved by exchanges that run. */
  readonly open_tokens: number;
  /** The last ended exchange: the next one is about as large. */
  readonly last_tokens: number;
  readonly last_usd: string;
  readonly priced: boolean;
  /** False: something that a provider billed by number in a whole answer (a search, a container) has no price. */
  readonly fees_priced: boolean;
  readonly open: number;
  /** Sub-agents that work: what they were given counts as open. */
  readonly children: number;
}

/** Sums a session's usage. Sent before the first await. */
export async function readTotals(tx: Transaction, sessionId: string): Promise<UsageTotals> {
  const [row] = await tx.query<UsageTotals>(
    `SELECT coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
       coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
       coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
       coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
       trim_scale(coalesce(sum(cost_usd), 0))::text AS cost_usd,
       trim_scale(coalesce(sum(CASE WHEN complete THEN cost_usd
         ELSE greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)) END), 0)
         + (SELECT delegated_usd FROM sessions WHERE id = $1) + coalesce(max(given.given_usd), 0))::text AS held_usd,
       trim_scale(coalesce(sum(greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)))
         FILTER (WHERE state = 'begun'), 0) + coalesce(max(given.given_usd), 0))::text AS open_usd,
       coalesce(sum(CASE WHEN complete THEN tokens ELSE greatest(tokens, reserved_tokens) END)
         FILTER (WHERE state <> 'begun'), 0)::bigint
         + (SELECT delegated_tokens FROM sessions WHERE id = $1) AS settled_tokens,
       coalesce(sum(reserved_tokens) FILTER (WHERE state = 'begun'), 0)::bigint + coalesce(max(given.given_tokens), 0)::bigint
         AS open_tokens,
       coalesce((array_agg(tokens ORDER BY id DESC) FILTER (WHERE state <> 'begun'))[1], 0)::bigint AS last_tokens,
       coalesce((array_agg(cost_usd ORDER BY id DESC) FILTER (WHERE state <> 'begun'))[1], 0)::text AS last_usd,
       coalesce(bool_and(cost_usd IS NOT NULL) FILTER (WHERE state <> 'begun'), true) AS priced,
       coalesce(bool_and(NOT coalesce(cost_is_lower_bound, false)) FILTER (WHERE complete), true) AS fees_priced,
       count(*) FILTER (WHERE state = 'begun')::int AS open, coalesce(max(given.children), 0)::int AS children
     FROM (
       SELECT count(*) AS children, sum((policy -> 'budgets' ->> 'maxTokens')::numeric) AS given_tokens,
         sum((policy -> 'budgets' ->> 'maxCostUsd')::numeric) AS given_usd
       FROM sessions WHERE parent_id = $1 AND state IN ('pending', 'starting', 'running', 'paused')
     ) given LEFT JOIN usage ON session_id = $1 CROSS JOIN LATERAL (
       SELECT coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0)
         + coalesce(cache_write_tokens, 0) AS tokens
     ) sums`,
    [sessionId],
  );
  if (row === undefined) throw new Error('an aggregate always has a row');
  return row;
}

/** What is asked of the sums before a tool call: nothing is kept for the summary there. Sent before the first await. */
export async function readSpent(tx: Transaction, sessionId: string): Promise<SpentBudget> {
  const [row] = await tx.query<Omit<SpentBudget, 'last_tokens' | 'last_usd'> & Record<string, unknown>>(
    `SELECT coalesce(sum(CASE WHEN complete THEN tokens ELSE greatest(tokens, reserved_tokens) END)
         FILTER (WHERE used.state <> 'begun'), 0)::bigint + s.delegated_tokens AS settled_tokens,
       (coalesce(sum(CASE WHEN complete THEN cost_usd
         ELSE greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)) END), 0) + s.delegated_usd)::text AS held_usd,
       coalesce(sum(greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)))
         FILTER (WHERE used.state = 'begun'), 0)::text AS open_usd,
       coalesce(bool_and(cost_usd IS NOT NULL) FILTER (WHERE used.state <> 'begun'), true) AS priced,
       coalesce(bool_and(NOT coalesce(cost_is_lower_bound, false)) FILTER (WHERE complete), true) AS fees_priced
     FROM sessions s LEFT JOIN LATERAL (
       SELECT state, complete, cost_usd, cost_is_lower_bound, reserved_usd, reserved_tokens, coalesce(input_tokens, 0)
         + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0) AS tokens
       FROM usage WHERE session_id = s.id
     ) used ON true
     WHERE s.id = $1 GROUP BY s.id`,
    [sessionId],
  );
  if (row === undefined) throw new Error('a session that is locked has its row');
  return { ...row, last_tokens: 0, last_usd: '0' };
}

export function usageEvent(model: string, totals: UsageTotals): DispatcherEvent {
  return {
    type: 'usage',
    model,
    inputTokens: totals.input_tokens,
    outputTokens: totals.output_tokens,
    cacheReadTokens: totals.cache_read_tokens,
    cacheWriteTokens: totals.cache_write_tokens,
    totalCostUsd: totals.cost_usd,
    priced: totals.priced,
  };
}
