import { costPartsOfCall } from '@lemniscate/shared/model/cost.ts';
import type { CallFacts, CostParts } from '@lemniscate/shared/model/cost.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import type { ResponseUsage, TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import type { UsageBefore } from './usage-row.ts';

/** What is known of an exchange when it is settled. */
export interface CostNow {
  readonly tokens: TokenBuckets;
  /** Null: unpriced. */
  readonly costs: CostParts | null;
  /** What the provider bills by number. */
  readonly requests: number;
}

/** What is added to the cost entries of an exchange. */
export interface CostChange {
  readonly tokens: TokenBuckets;
  readonly costs: CostParts;
  readonly requests: number;
  /** 1: it has no price; -1: it had none before, and has one now. */
  readonly unpriced: number;
}

/** Searches that the provider ran. */
export const searchesOf = (responses: readonly ResponseUsage[]): number =>
  responses.reduce((sum, { webSearches }) => sum + webSearches, 0);

const nothing = new Decimal(0);
const free: CostParts = {
  input: nothing,
  output: nothing,
  cacheRead: nothing,
  cacheWrite: nothing,
  other: nothing,
};

/**
 * What is known now beyond what stands: entries are appended and never changed. Before the first settlement that is all
 * of it. The parts of a cut answer are priced again as the row keeps them; what other prices have changed since is in
 * `other`, so that the sum is what the row says to the last digit.
 */
export function changeOfCost(
  before: UsageBefore,
  { tokens, costs, requests }: CostNow,
  call: CallFacts,
  book: PriceBook,
): CostChange {
  const now = costs ?? free;
  const unpriced = Number(costs === null);
  if (before.state === 'begun') return { tokens, costs: now, requests, unpriced };
  const billed = new Decimal(before.costUsd ?? 0);
  const was = (billed.isZero() ? null : partsOf(before, call, book)) ?? free;
  const input = now.input.minus(was.input);
  const output = now.output.minus(was.output);
  const cacheRead = now.cacheRead.minus(was.cacheRead);
  const cacheWrite = now.cacheWrite.minus(was.cacheWrite);
  const total = Decimal.sum(now.input, now.output, now.cacheRead, now.cacheWrite, now.other);
  const other = total.minus(billed).minus(input).minus(output).minus(cacheRead).minus(cacheWrite);
  return {
    tokens: {
      inputTokens: tokens.inputTokens - before.tokens.inputTokens,
      outputTokens: tokens.outputTokens - before.tokens.outputTokens,
      cacheReadTokens: tokens.cacheReadTokens - before.tokens.cacheReadTokens,
      cacheWriteTokens: tokens.cacheWriteTokens - before.tokens.cacheWriteTokens,
      cacheWrite1hTokens: tokens.cacheWrite1hTokens - before.tokens.cacheWrite1hTokens,
    },
    costs: { input, output, cacheRead, cacheWrite, other },
    requests: requests - searchesOf(before.served?.responses ?? []),
    unpriced: unpriced - Number(before.costUsd === null),
  };
}

/** A row of the version before is priced as one sampling of the asked model. */
const servedOf = ({ tokens, servedTier, served }: UsageBefore, call: CallFacts): readonly ResponseUsage[] =>
  served?.responses ?? [
    {
      responseId: null,
      servedModel: call.model,
      tier: { serviceTier: servedTier, speed: null, region: null },
      parts: [{ model: null, tokens }],
      webSearches: 0,
      complete: false,
    },
  ];

const partsOf = (before: UsageBefore, call: CallFacts, book: PriceBook): CostParts | null =>
  costPartsOfCall(servedOf(before, call), call, book);
