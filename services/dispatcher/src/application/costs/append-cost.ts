import type { CostParts } from '@lemniscate/shared/model/cost.ts';
import type { TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { SessionRow } from '../sessions/session-row.ts';

type ChargedSession = Pick<SessionRow, 'id' | 'project_id' | 'agent' | 'opened_by' | 'runtime'>;

/** The cost of a settled exchange. */
export interface UsageCost {
  readonly usageId: string;
  readonly provider: string;
  readonly model: string;
  /** The model that served, by which bills name it; null where nothing is known. */
  readonly servedModel: string | null;
  /** What the provider bills by number, such as searches. */
  readonly requests: number;
  /** Milliseconds of the epoch; its day in UTC is the day of the cost. */
  readonly at: number;
  readonly priceBook: string;
  /** The answer was cut, or something of it is billed by number and has no price. */
  readonly costIsLowerBound: boolean;
  readonly tokens: TokenBuckets;
  readonly costs: CostParts;
  /** 1: it has no price; -1: it had none before, and has one now. */
  readonly unpriced: number;
  /** An entry of the exchange stands already; this one adds what has become known beyond it. */
  readonly wasCut: boolean;
}

/** Appends what an exchange cost, in the transaction that settles it. */
export async function appendUsageCost(
  tx: Transaction,
  session: ChargedSession,
  cost: UsageCost,
): Promise<void> {
  const { tokens, costs } = cost;
  await tx.query(
    `INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
       cost_centre, price_book, exchanges, unpriced, incomplete, input_tokens, output_tokens, cache_read_tokens,
       cache_write_tokens, input_usd, output_usd, cache_read_usd, cache_write_usd, other_usd,
       served_model, requests)
     VALUES ('usage', $1, $2, $3, $4, $5, $6, $7, $8, $9,
       coalesce((SELECT cost_centre FROM cost_centres WHERE project_id = $4), ''),
       $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`,
    [
      cost.usageId,
      session.id,
      new Date(cost.at).toISOString().slice(0, 10),
      session.project_id,
      session.agent,
      session.opened_by,
      session.runtime,
      cost.provider,
      cost.model,
      cost.priceBook,
      cost.wasCut ? 0 : 1,
      cost.unpriced,
      incompleteOf(cost),
      tokens.inputTokens,
      tokens.outputTokens,
      tokens.cacheReadTokens,
      tokens.cacheWriteTokens,
      costs.input.toFixed(),
      costs.output.toFixed(),
      costs.cacheRead.toFixed(),
      costs.cacheWrite.toFixed(),
      costs.other.toFixed(),
      cost.servedModel,
      cost.requests,
    ],
  );
}

/** What is added to the exchanges whose cost is a lower bound; a cut one is among them already. */
const incompleteOf = (cost: UsageCost): number => Number(cost.costIsLowerBound) - Number(cost.wasCut);
