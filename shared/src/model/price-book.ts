import type { Decimal } from './decimal.ts';

/** The buckets that have a price. */
export type PricedBucket = 'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h';

/** USD for a million tokens. A bucket that is absent follows from `input` by the provider's rule. */
export interface TokenPrices {
  readonly input: Decimal;
  readonly output: Decimal;
  readonly cacheRead?: Decimal;
  readonly cacheWrite5m?: Decimal;
  readonly cacheWrite1h?: Decimal;
}

/** Prices of requests whose whole prompt has more than `abovePromptTokens` tokens. */
export interface ContextTier {
  readonly abovePromptTokens: number;
  readonly perMTok: TokenPrices;
}

/** Prices from a day on. */
export interface PricePeriod {
  /** Milliseconds of the epoch; -Infinity for the first period. */
  readonly from: number;
  /** Ascending thresholds; the first is 0 or less, so that every prompt has a tier. */
  readonly tiers: readonly ContextTier[];
  /** USD for a thousand searches that the provider ran; absent where the book does not say. */
  readonly webSearchPerThousand?: Decimal;
  /** USD for a thousand searches of stored files that the provider ran. */
  readonly fileSearchPerThousand?: Decimal;
}

/** What a served condition does to the price of tokens. */
export interface PriceModifier {
  readonly name: string;
  readonly factor: Decimal;
  /** The condition; absent: the book says that the factor applies anyway. */
  readonly when?: ModifierCondition;
  /** Model ids; absent: all. */
  readonly models?: readonly string[];
  /** Buckets; absent: all. */
  readonly buckets?: readonly PricedBucket[];
}

export interface ModifierCondition {
  readonly field: 'batch' | 'serviceTier' | 'speed' | 'region';
  readonly value: string;
}

/** All models of a provider with their prices, by exact id. */
export interface ProviderPrices {
  readonly models: ReadonlyMap<string, readonly PricePeriod[]>;
  /** Ids that may carry a date at their end (`gpt-6-sol-2026-10-01`): the source says that snapshots cost the same. */
  readonly datedModels: ReadonlySet<string>;
  readonly modifiers: readonly PriceModifier[];
  /** A served condition without a modifier: has no known price, or the standard one where the book is exhaustive. */
  readonly otherConditions: 'unpriced' | 'standard';
}

/** Prices in USD with the version that every usage row keeps. */
export interface PriceBook {
  readonly version: string;
  readonly providers: ReadonlyMap<string, ProviderPrices>;
}

const dated = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

/**
 * The periods of a model. Ids are exact: a neighbour's price would be a wrong number that nobody notices, while an
 * unpriced model raises an alarm.
 */
export function findPeriods(
  book: PriceBook,
  provider: string,
  model: string,
): readonly PricePeriod[] | undefined {
  const prices = book.providers.get(provider);
  const exact = prices?.models.get(model);
  if (exact !== undefined) return exact;
  const base = model.replace(dated, '');
  return base !== model && prices?.datedModels.has(base) === true ? prices.models.get(base) : undefined;
}

/** Lays one book over another: a model of the upper one replaces the lower one's, the rest shows through. */
export function overlayBook(lower: PriceBook, upper: PriceBook): PriceBook {
  const names = new Set([...lower.providers.keys(), ...upper.providers.keys()]);
  const providers = [...names].map((name): readonly [string, ProviderPrices] => {
    const [below, above] = [lower.providers.get(name), upper.providers.get(name)];
    return [
      name,
      {
        models: new Map([...(below?.models ?? []), ...(above?.models ?? [])]),
        datedModels: new Set([...(below?.datedModels ?? []), ...(above?.datedModels ?? [])]),
        modifiers: [...(above?.modifiers ?? []), ...(below?.modifiers ?? [])],
        otherConditions: above?.otherConditions ?? below?.otherConditions ?? 'unpriced',
      },
    ];
  });
  return { version: `${lower.version}+${upper.version}`, providers: new Map(providers) };
}
