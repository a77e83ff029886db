import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { bookOfProject } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { noTokens } from '@lemniscate/shared/model/usage.ts';
import type { ResponseUsage, UsagePart } from '@lemniscate/shared/model/usage.ts';
import type { AttemptClaim } from '../../application/events/live-attempt.ts';
import { beginExchange } from '../../application/gateway/begin-exchange.ts';
import { settleExchange } from '../../application/gateway/settle-exchange.ts';
import type { TestRecord } from './record.ts';

/** How a model of Anthropic served; what is left out is as usual. */
export interface Served {
  readonly servedModel?: string;
  readonly tier?: Partial<ResponseUsage['tier']>;
  /** A million tokens of output, unless parts are given. */
  readonly parts?: readonly UsagePart[];
  readonly webSearches?: number;
  readonly fileSearches?: number;
}

/** A sampling that answered so many tokens, by another model than the response's where one is named. */
export const output = (tokens: number, model: string | null = null): UsagePart => ({
  model,
  tokens: { ...noTokens, outputTokens: tokens },
});

/** Exchanges with models of Anthropic, without a provider. */
export function createTestExchanges(record: TestRecord, priceBook: PriceBook = readPinnedPriceBook()) {
  const factsOf = (model: string) => ({
    provider: 'anthropic',
    prices: 'anthropic',
    model,
    fallbackFor: null,
  });
  const begin = (claim: AttemptClaim, model: string, webSearches = 0): Promise<string> =>
    beginExchange({ ...record, priceBook: bookOfProject(priceBook, 'local'), gatewayId: 'gw_test' }, claim, {
      ...factsOf(model),
      endpoint: 'anthropic-messages',
      requestBytes: 10,
      maxTokens: 1_000,
      webSearches,
      at: Date.now(),
    });
  /** Null: nothing is known of the answer. */
  const settle = (usageId: string, claim: AttemptClaim, model: string, served: Served | null) =>
    settleExchange(
      { ...record, priceBook },
      {
        ...factsOf(model),
        usageId,
        claim,
        at: Date.now(),
        complete: served !== null,
        responses: served === null ? [] : [responseOf(served, usageId)],
      },
    );
  return {
    begin,
    settle,
    spend: async (claim: AttemptClaim, model: string, served: Served): Promise<string> => {
      const usageId = await begin(claim, model);
      await settle(usageId, claim, model, served);
      return usageId;
    },
  };
}

const responseOf = (served: Served, id: string): ResponseUsage => ({
  responseId: `msg_${id}`,
  servedModel: served.servedModel ?? null,
  tier: { serviceTier: null, speed: null, region: null, ...served.tier },
  parts: served.parts ?? [output(1_000_000)],
  webSearches: served.webSearches ?? 0,
  fileSearches: served.fileSearches ?? 0,
  complete: true,
});
