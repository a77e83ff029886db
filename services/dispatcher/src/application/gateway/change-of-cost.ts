import { costPartsOfCall } from '@lemniscate/shared/model/cost.ts';
import type { CallFacts, CostParts } from '@lemniscate/shared/model/cost.ts';
import { Decimal } from '@lemniscate/shared/model/decimal.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import type { TokenBuckets } from '@lemniscate/shared/model/usage.ts';
import type { UsageBefore } from './usage-row.ts';

/** What is added to the cost entries of an exchange. */
export interface CostChange {
  readonly tokens: TokenBuckets;
  /** Null: unpriced. */
  readonly costs: CostParts | null;
}

/**
 * What a whole answer adds to the entry of a cut one: entries are appended and never changed. The parts of what was
 * billed are priced again as one sampling; what other prices have changed since is in `other`, so that the sum is what
 * the row says to the last digit.
 */
export function changeOfCost(
  before: UsageBefore,
  now: CostChange,
  call: CallFacts,
  book: PriceBook,
): CostChange {
  const tokens = {
    inputTokens: now.tokens.inputTokens - before.tokens.inputTokens,
    outputTokens: now.tokens.outputTokens - before.tokens.outputTokens,
    cacheReadTokens: now.tokens.cacheReadTokens - before.tokens.cacheReadTokens,
    cacheWriteTokens: now.tokens.cacheWriteTokens - before.tokens.cacheWriteTokens,
    cacheWrite1hTokens: now.tokens.cacheWrite1hTokens - before.tokens.cacheWrite1hTokens,
  };
  if (now.costs === null) return { tokens, costs: null };
  const billed = new Decimal(before.costUsd ?? 0);
  const was = billed.isZero() ? null : partsOf(before, call, book);
  const input = now.costs.input.minus(was?.input ?? 0);
  const output = now.costs.output.minus(was?.output ?? 0);
  const cacheRead = now.costs.cacheRead.minus(was?.cacheRead ?? 0);
  const cacheWrite = now.costs.cacheWrite.minus(was?.cacheWrite ?? 0);
  const { costs } = now;
  const total = Decimal.sum(costs.input, costs.output, costs.cacheRead, costs.cacheWrite, costs.other);
  const other = total.minus(billed).minus(input).minus(output).minus(cacheRead).minus(cacheWrite);
  return { tokens, costs: { input, output, cacheRead, cacheWrite, other } };
}

const partsOf = ({ tokens, servedTier }: UsageBefore, call: CallFacts, book: PriceBook): CostParts | null =>
  costPartsOfCall(
    [
      {
        responseId: null,
        servedModel: call.model,
        tier: { serviceTier: servedTier, speed: null, region: null },
        parts: [{ model: null, tokens }],
        webSearches: 0,
        complete: false,
      },
    ],
    call,
    book,
  );
