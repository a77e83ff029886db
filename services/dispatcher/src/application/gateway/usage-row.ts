import type { ResponseUsage, TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import type { ServedUsage } from '../costs/served-usage.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { EndedExchange } from './settle-exchange.ts';

/** An exchange as its row has it, with what its settlement needs to know. */
export interface ExchangeRow extends Record<string, unknown> {
  readonly id: string;
  readonly session_id: string;
  readonly attempt: number;
  readonly server_id: string;
  readonly provider: string;
  readonly prices: string | null;
  readonly model: string;
  readonly fallback_for: string | null;
  readonly begun_at: string;
}

/** What is settled of a row, but for what is known of its answer. */
export function exchangeOf(row: ExchangeRow): Omit<EndedExchange, 'responses' | 'complete'> {
  return {
    usageId: row.id,
    claim: { sessionId: row.session_id, attempt: row.attempt, serverId: row.server_id },
    provider: row.provider,
    prices: row.prices ?? row.provider,
    fallbackFor: row.fallback_for,
    model: row.model,
    at: Date.parse(row.begun_at),
  };
}

/** What stood in a row before it is settled, or settled anew. */
export interface UsageBefore {
  readonly state: 'begun' | 'cut';
  /** Nothing, where it has begun or nothing was known when it was cut. */
  readonly tokens: TokenBuckets;
  readonly costUsd: string | null;
  readonly servedTier: string | null;
  /** Null: a dispatcher wrote it that did not keep how it was served. */
  readonly served: ServedUsage | null;
}

interface LockedRow extends Record<string, unknown> {
  readonly state: string;
  readonly response_id: string | null;
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
  readonly cost_usd: string | null;
  readonly served_tier: string | null;
  readonly served: ServedUsage | null;
}

/**
 * Locks the exchange's row, behind the session's lock. Sent before the first await.
 * @returns what this settlement changes; null when somebody else has settled it
 */
export async function lockUsage(tx: Transaction, ended: EndedExchange): Promise<UsageBefore | null> {
  const [row] = await tx.query<LockedRow>(
    `SELECT state, response_id, coalesce(input_tokens, 0) AS input, coalesce(output_tokens, 0) AS output,
       coalesce(cache_read_tokens, 0) AS cache_read, coalesce(cache_write_tokens, 0) AS cache_write,
       coalesce(cache_write_1h_tokens, 0) AS cache_write_1h, cost_usd::text AS cost_usd, served_tier, served
     FROM usage WHERE id = $1 FOR UPDATE`,
    [ended.usageId],
  );
  if (row === undefined || !isChangedBy(row, ended)) return null;
  return {
    state: row.state === 'begun' ? 'begun' : 'cut',
    tokens: {
      inputTokens: row.input,
      outputTokens: row.output,
      cacheReadTokens: row.cache_read,
      cacheWriteTokens: row.cache_write,
      cacheWrite1hTokens: row.cache_write_1h,
    },
    costUsd: row.cost_usd,
    servedTier: row.served_tier,
    served: row.served,
  };
}

/** What is whole is never changed again; a cut answer gives way to a whole one, and ignorance to any knowledge. */
function isChangedBy(row: LockedRow, ended: EndedExchange): boolean {
  if (row.state === 'begun') return true;
  const isKnown = row.response_id !== null || row.input + row.output + row.cache_read + row.cache_write > 0;
  return row.state === 'cut' && (ended.complete || (ended.responses.length > 0 && !isKnown));
}

/** Another row that has the same response already. */
export interface SameResponse extends ExchangeRow {
  readonly state: string;
}

/**
 * Finds the usage row that has this response already, such as one that the provider told to an earlier request. Sent
 * before the first await.
 */
export async function findSameResponse(tx: Transaction, ended: EndedExchange): Promise<SameResponse | null> {
  const responseId = ended.responses[0]?.responseId ?? null;
  if (responseId === null) return null;
  const [, [row]] = await Promise.all([
    // Two sessions that are told one response at once settle one after the other; the second sees the first.
    tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
      JSON.stringify(['usage_response', ended.provider, responseId]),
    ]),
    tx.query<SameResponse>(
      `SELECT u.id, u.session_id, u.attempt, a.server_id, u.provider, u.prices, u.model, u.fallback_for, u.begun_at,
         u.state
       FROM usage u JOIN attempts a ON a.session_id = u.session_id AND a.attempt = u.attempt
       WHERE u.provider = $1 AND u.response_id = $2 AND u.id <> $3`,
      [ended.provider, responseId, ended.usageId],
    ),
  ]);
  return row ?? null;
}

/** Writes what is known of an answer into its row. Sent before the first await. */
export async function writeUsage(
  tx: Transaction,
  ended: EndedExchange,
  responses: readonly ResponseUsage[],
  tokens: TokenBuckets,
  cost: { readonly costUsd: string | null; readonly costIsLowerBound: boolean },
): Promise<void> {
  const [response] = responses;
  const served: ServedUsage = { at: ended.at, responses };
  await tx.query(
    `UPDATE usage SET state = $2, complete = $3, input_tokens = $4, output_tokens = $5, cache_read_tokens = $6,
       cache_write_tokens = $7, cache_write_1h_tokens = $8, cost_usd = $9, served_tier = $10, response_id = $11,
       served_model = $12, served = $13, cost_is_lower_bound = $14, settled_at = now() WHERE id = $1`,
    [
      ended.usageId,
      ended.complete ? 'settled' : 'cut',
      ended.complete,
      tokens.inputTokens,
      tokens.outputTokens,
      tokens.cacheReadTokens,
      tokens.cacheWriteTokens,
      tokens.cacheWrite1hTokens,
      cost.costUsd,
      response?.tier.serviceTier ?? null,
      response?.responseId ?? null,
      response?.servedModel ?? null,
      JSON.stringify(served),
      cost.costIsLowerBound,
    ],
  );
}
