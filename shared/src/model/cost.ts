import { Decimal } from './decimal.ts';
import { ownMember } from './json-reading.ts';
import { findPeriods } from './price-book.ts';
import type {
  ContextTier,
  ModifierCondition,
  PriceBook,
  PriceModifier,
  PricePeriod,
  PricedBucket,
  ProviderPrices,
  TokenPrices,
} from './price-book.ts';
import { noTokens, promptTokens } from './usage.ts';
import type { ResponseUsage, TokenBuckets, UsagePart } from './usage.ts';

/** What is known about a call beside its answer. */
export interface CallFacts {
  readonly provider: string;
  /** The requested model: used only where the answer names none. */
  readonly model: string;
  /** When the call was made, in milliseconds of the epoch: prices are dated. */
  readonly at: number;
  /** The answer came from a batch. */
  readonly batch: boolean;
}

/** Cost in USD, exact; null where the book has no price, and then never to be read as zero. */
export type Cost = Decimal | null;

const million = new Decimal(1_000_000);
const thousand = new Decimal(1000);
const nothingPriced = { modifiers: [], otherConditions: 'unpriced' } as const;
// Conditions under which the standard price holds.
const neutral = new Set(['standard', 'standard_only', 'default', 'on_demand', 'global', 'not_available']);

/** How the price of a cache bucket follows from the input price where the book does not give it. */
const cacheRules: Readonly<
  Record<string, Readonly<Record<'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h', string>>>
> = {
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching: reads 0.1, writes 1.25, one-hour writes 2.
  anthropic: { cacheRead: '0.1', cacheWrite5m: '1.25', cacheWrite1h: '2' },
};
// No discount and no surcharge where the provider names none.
const plainCacheRule = { cacheRead: '1', cacheWrite5m: '1', cacheWrite1h: '1' } as const;

function bucketPrice(prices: TokenPrices, bucket: PricedBucket, provider: string): Decimal {
  const given = prices[bucket];
  if (given !== undefined) return given;
  if (bucket === 'input' || bucket === 'output') return prices[bucket];
  return prices.input.times((ownMember(cacheRules, provider) ?? plainCacheRule)[bucket]);
}

function amounts(tokens: TokenBuckets): readonly (readonly [PricedBucket, number])[] {
  return [
    ['input', tokens.inputTokens],
    ['output', tokens.outputTokens],
    ['cacheRead', tokens.cacheReadTokens],
    ['cacheWrite5m', tokens.cacheWriteTokens - tokens.cacheWrite1hTokens],
    ['cacheWrite1h', tokens.cacheWrite1hTokens],
  ];
}

function periodAt(periods: readonly PricePeriod[], at: number): PricePeriod | undefined {
  return periods.filter((period) => period.from <= at).sort((left, right) => right.from - left.from)[0];
}

/** One tier prices the whole sampling; it is chosen by the whole prompt, cached parts included. */
function tierFor(period: PricePeriod, tokens: TokenBuckets): ContextTier | undefined {
  const prompt = promptTokens(tokens);
  return period.tiers.findLast((tier, index) => index === 0 || prompt > tier.abovePromptTokens);
}

function servedConditions(response: ResponseUsage, call: CallFacts): ModifierCondition[] {
  const { serviceTier, speed, region } = response.tier;
  const batch = call.batch || serviceTier === 'batch';
  const told: readonly (readonly [ModifierCondition['field'], string | null])[] = [
    ['serviceTier', serviceTier === 'batch' || serviceTier === 'auto' ? null : serviceTier],
    ['speed', speed],
    ['region', region],
  ];
  return [
    ...(batch ? [{ field: 'batch', value: 'batch' } as const] : []),
    ...told.flatMap(([field, value]) => (value === null || neutral.has(value) ? [] : [{ field, value }])),
  ];
}

const baseId = (model: string): string => model.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, '');

function appliesTo(modifier: PriceModifier, model: string): boolean {
  return (
    modifier.models === undefined ||
    modifier.models.includes(model) ||
    modifier.models.includes(baseId(model))
  );
}

/** The factors of a call; undefined when it was served under a condition that the book cannot price. */
function chooseModifiers(
  { modifiers, otherConditions }: Pick<ProviderPrices, 'modifiers' | 'otherConditions'>,
  conditions: readonly ModifierCondition[],
  model: string,
): PriceModifier[] | undefined {
  const always = modifiers.filter((one) => one.when === undefined && appliesTo(one, model));
  const chosen = conditions.map((condition) =>
    modifiers.filter(
      (one) =>
        one.when?.field === condition.field && one.when.value === condition.value && appliesTo(one, model),
    ),
  );
  if (otherConditions === 'unpriced' && chosen.some((found) => found.length === 0)) return undefined;
  return [...always, ...chosen.flatMap((found) => found.slice(0, 1))];
}

function costsOfPart(
  part: UsagePart,
  response: ResponseUsage,
  call: CallFacts,
  book: PriceBook,
): Readonly<Record<PricedBucket, Decimal>> | null {
  const model = part.model ?? response.servedModel ?? call.model;
  const period = periodAt(findPeriods(book, call.provider, model) ?? [], call.at);
  const prices = period === undefined ? null : (tierFor(period, part.tokens)?.perMTok ?? null);
  const modifiers = chooseModifiers(
    book.providers.get(call.provider) ?? nothingPriced,
    servedConditions(response, call),
    model,
  );
  if (prices === null || modifiers === undefined) return null;
  const costs = amounts(part.tokens).map(([bucket, count]): readonly [PricedBucket, Decimal] => {
    const factor = modifiers
      .filter((one) => one.buckets === undefined || one.buckets.includes(bucket))
      .reduce<Decimal>((product, one) => product.times(one.factor), new Decimal(1));
    return [bucket, bucketPrice(prices, bucket, call.provider).times(count).times(factor).div(million)];
  });
  return Object.fromEntries(costs) as Record<PricedBucket, Decimal>;
}

function costOfPart(part: UsagePart, response: ResponseUsage, call: CallFacts, book: PriceBook): Cost {
  const costs = costsOfPart(part, response, call, book);
  return costs === null ? null : Decimal.sum(0, ...Object.values(costs));
}

/** A cost by what it was paid for; `other` is what the provider bills by number. */
export type CostParts = Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'other', Decimal>>;

/** The parts of a call's cost, which add up to `costOfCall`; null as soon as anything of it has no price. */
export function costPartsOfCall(
  responses: readonly ResponseUsage[],
  call: CallFacts,
  book: PriceBook,
): CostParts | null {
  const parts = responses.flatMap((response) =>
    response.parts.map((part) => costsOfPart(part, response, call, book)),
  );
  if (costOfCall(responses, call, book) === null || parts.some((part) => part === null)) return null;
  const sum = (...buckets: readonly PricedBucket[]): Decimal =>
    Decimal.sum(0, ...parts.flatMap((part) => buckets.map((bucket) => part?.[bucket] ?? 0)));
  return {
    input: sum('input'),
    output: sum('output'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite5m', 'cacheWrite1h'),
    other: Decimal.sum(0, ...responses.map((response) => searchFee(response, call, book))),
  };
}

/** What was billed by number, with the book's price of a thousand. */
function feesOf(
  response: ResponseUsage,
  call: CallFacts,
  book: PriceBook,
): readonly (readonly [number, Decimal | undefined])[] {
  const model = response.servedModel ?? call.model;
  const period = periodAt(findPeriods(book, call.provider, model) ?? [], call.at);
  return [
    [response.webSearches, period?.webSearchPerThousand],
    [response.fileSearches ?? 0, period?.fileSearchPerThousand],
  ];
}

function searchFee(response: ResponseUsage, call: CallFacts, book: PriceBook): Decimal {
  const fees = feesOf(response, call, book).map(([count, price]) => price?.times(count).div(thousand) ?? 0);
  return Decimal.sum(0, ...fees);
}

/**
 * Whether what a call is said to cost is a lower bound: its answer is not whole, or the provider bills something by number
 * for which the book has no price. A call without any price is unpriced instead.
 * @param complete the provider told all tokens itself, and they can be believed
 */
export function isCostLowerBound(
  complete: boolean,
  responses: readonly ResponseUsage[],
  call: CallFacts,
  book: PriceBook,
): boolean {
  if (!complete) return true;
  return leavesOutFees(responses, call, book) && costOfCall(responses, call, book) !== null;
}

function leavesOutFees(responses: readonly ResponseUsage[], call: CallFacts, book: PriceBook): boolean {
  return responses.some(
    (response) =>
      response.otherFees === true ||
      feesOf(response, call, book).some(([count, price]) => count > 0 && price === undefined),
  );
}

/**
 * Cost of one response: every sampling at the served model's price of the day, the tier of its whole prompt, times
 * the factors of the conditions under which it was served, plus searches where the book prices them.
 */
export function costOfResponse(response: ResponseUsage, call: CallFacts, book: PriceBook): Cost {
  const parts = response.parts.length > 0 ? response.parts : [{ model: null, tokens: noTokens }];
  const costs = parts.map((part) => costOfPart(part, response, call, book));
  if (costs.some((cost) => cost === null)) return null;
  return costs.reduce<Decimal>((sum, cost) => sum.plus(cost ?? 0), searchFee(response, call, book));
}

/** Cost of all responses of a call; null as soon as one has no price. Without any, the model must at least be known. */
export function costOfCall(responses: readonly ResponseUsage[], call: CallFacts, book: PriceBook): Cost {
  if (responses.length === 0) {
    const periods = findPeriods(book, call.provider, call.model) ?? [];
    return periodAt(periods, call.at) === undefined ? null : new Decimal(0);
  }
  const costs = responses.map((response) => costOfResponse(response, call, book));
  if (costs.some((cost) => cost === null)) return null;
  return costs.reduce<Decimal>((sum, cost) => sum.plus(cost ?? 0), new Decimal(0));
}
