import { Decimal } from '../model/decimal.ts';
import { costOfResponse } from '../model/cost.ts';
import type { PriceBook } from '../model/price-book.ts';
import { noTokens } from '../model/usage.ts';

/** What is known of an exchange before it begins. */
export interface PlannedExchange {
  readonly provider: string;
  /** Whose prices hold, by their name in the price book. */
  readonly prices: string;
  readonly model: string;
  readonly endpoint: string;
  /** The asked model, where another one is asked instead. */
  readonly fallbackFor: string | null;
  /** Length of the request. A token is at least one byte, so it bounds the prompt. */
  readonly requestBytes: number;
  /** Most tokens of the answer. */
  readonly maxTokens: number;
  /** Most searches that the provider may run and bills by number. */
  readonly webSearches: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
}

/**
 * The most that an exchange can cost: every byte a token that is written to the one-hour cache, every permitted token
 * answered, every permitted search run. Null: the model has no price.
 */
export function worstCaseCost(planned: PlannedExchange, book: PriceBook): string | null {
  const tokens = {
    ...noTokens,
    cacheWriteTokens: planned.requestBytes,
    cacheWrite1hTokens: planned.requestBytes,
    outputTokens: planned.maxTokens,
  };
  const cost = costOfResponse(
    {
      responseId: null,
      servedModel: planned.model,
      tier: { serviceTier: null, speed: null, region: null },
      parts: [{ model: null, tokens }],
      webSearches: planned.webSearches,
      complete: true,
    },
    { provider: planned.prices, model: planned.model, at: planned.at, batch: false },
    book,
  );
  return cost === null ? null : new Decimal(cost).toFixed();
}

/** The most tokens that an exchange can use. */
export function worstCaseTokens({ requestBytes, maxTokens }: PlannedExchange): number {
  return requestBytes + maxTokens;
}
