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
  /** Null: a given book has no price for such prompts. */
  readonly perMTok: TokenPrices | null;
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
  /** Whole books of projects that have prices of their own. */
  readonly projects?: ReadonlyMap<string, PriceBook>;
}

/** The book by which a project's exchanges are priced. */
export function bookOfProject(book: PriceBook, project: string): PriceBook {
  return book.projects?.get(project) ?? book;
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

/**
 * Lets a given book price the ids under which the same models are served: where it has a price for
 * `claude-haiku-4-5`, and `known` says that `claude-haiku-4-5-20251001` is that model, the price holds for both. Ids that
 * the given book prices itself, and models that `known` does not have, stay as they are.
 */
export function withKnownIds(given: PriceBook, known: PriceBook): PriceBook {
  const providers = [...given.providers].map(([name, prices]): readonly [string, ProviderPrices] => {
    const theirs = known.providers.get(name);
    if (theirs === undefined) return [name, prices];
    // Ids of one model share its periods. Two prices for one model say that its ids are told apart.
    const priced = Map.groupBy(prices.models, ([id]) => findPeriods(known, name, id));
    const same = [...theirs.models].flatMap(([id, model]) => {
      const [only, second] = priced.get(model) ?? [];
      return only === undefined || second !== undefined ? [] : [[id, only[1]] as const];
    });
    const models = new Map([...same, ...prices.models]);
    const dated = [...theirs.datedModels].filter((id) => models.has(id));
    return [name, { ...prices, models, datedModels: new Set([...prices.datedModels, ...dated]) }];
  });
  return { ...given, providers: new Map(providers) };
}

/**
 * Lays one book over another: a model of the upper one replaces the lower one's, the rest shows through. Books of
 * projects are overlaid as well.
 */
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
  const projects = [...(lower.projects ?? [])].map(([id, book]) => [id, overlayBook(book, upper)] as const);
  return {
    version: `${lower.version}+${upper.version}`,
    providers: new Map(providers),
    ...(projects.length === 0 ? {} : { projects: new Map(projects) }),
  };
}
