import { calcPrice, findProvider } from '@pydantic/genai-prices';
import type { ConditionalPrice, MatchLogic, ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import { Decimal } from './decimal.ts';
import { pinnedModifiers } from './modifiers.ts';
import type {
  ContextTier,
  PriceBook,
  PricePeriod,
  PricedBucket,
  ProviderPrices,
  TokenPrices,
} from './price-book.ts';
import { scriptedPrices } from './scripted-prices.ts';
import { knownSnapshots } from './snapshots.ts';

const packageVersion = '0.1.8';
/** Counts our own changes to what is laid over the package: modifiers, snapshots, the stand-in. */
const revision = 2;
const providerNames = ['anthropic', 'openai'] as const;

const buckets: readonly (readonly [PricedBucket, string])[] = [
  ['input', 'input_mtok'],
  ['output', 'output_mtok'],
  ['cacheRead', 'cache_read_mtok'],
  ['cacheWrite5m', 'cache_write_mtok'],
  ['cacheWrite1h', 'cache_write_1h_mtok'],
];
// Models with these keys bill other things than text tokens; four buckets cannot price them.
const foreignKeys = /audio|image|video|hours|seconds|pixels|pages|chars/;

type Price = ModelPrice[string];

function priceAt(price: Price, promptTokens: number): Decimal | undefined {
  if (price === undefined) return undefined;
  if (typeof price === 'number') return new Decimal(price);
  const tier = price.tiers.findLast((one) => promptTokens > one.start);
  return new Decimal(tier?.price ?? price.base);
}

function tiersOf(prices: ModelPrice): ContextTier[] | undefined {
  const starts = Object.values(prices).flatMap((price) =>
    typeof price === 'object' ? price.tiers.map((tier) => tier.start) : [],
  );
  const thresholds = [...new Set([0, ...starts])].sort((left, right) => left - right);
  const tiers = thresholds.map((abovePromptTokens) => {
    const entries = buckets.flatMap(([bucket, key]) => {
      const price = priceAt(prices[key], abovePromptTokens + 1);
      return price === undefined ? [] : [[bucket, price] as const];
    });
    return { abovePromptTokens, perMTok: Object.fromEntries(entries) as Partial<TokenPrices> };
  });
  const isWhole = (
    tier: (typeof tiers)[number],
  ): tier is (typeof tiers)[number] & { readonly perMTok: TokenPrices } =>
    tier.perMTok.input !== undefined && tier.perMTok.output !== undefined;
  return tiers.every(isWhole) ? tiers : undefined;
}

function periodOf({ constraint, prices }: ConditionalPrice): PricePeriod | undefined {
  const tiers = tiersOf(prices);
  if (tiers === undefined || Object.keys(prices).some((key) => foreignKeys.test(key))) return undefined;
  if (constraint !== undefined && constraint.type !== 'start_date') return undefined;
  const webSearches = priceAt(prices['web_searches_kcount'], 0);
  const fileSearches = priceAt(prices['storage_searches_kcount'], 0);
  return {
    from:
      constraint === undefined ? Number.NEGATIVE_INFINITY : Date.parse(`${constraint.start_date}T00:00:00Z`),
    tiers,
    ...(webSearches === undefined ? {} : { webSearchPerThousand: webSearches }),
    ...(fileSearches === undefined ? {} : { fileSearchPerThousand: fileSearches }),
  };
}

function periodsOf(model: ModelInfo): PricePeriod[] {
  const conditional = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const periods = conditional.map(periodOf).filter((period) => period !== undefined);
  // A price that we cannot read makes the whole model unpriced: a gap would be priced by the period before it.
  return periods.length === conditional.length ? periods : [];
}

function equalIds(match: MatchLogic): string[] {
  if ('equals' in match) return [match.equals];
  return 'or' in match ? match.or.flatMap(equalIds) : [];
}

/** Whether the source itself says by an anchored pattern that dated snapshots of the model are the model. */
function allowsDates(match: MatchLogic, id: string): boolean {
  if ('or' in match) return match.or.some((one) => allowsDates(one, id));
  if (!('regex' in match)) return false;
  const plain = match.regex.replaceAll('\\.', '.');
  return plain === `^${id}-\\d{8}$` || plain === `^${id}-\\d{4}-\\d{2}-\\d{2}$`;
}

function readProvider(name: (typeof providerNames)[number]): ProviderPrices {
  const models = new Map<string, readonly PricePeriod[]>();
  const datedModels = new Set<string>();
  for (const model of findProvider({ providerId: name })?.models ?? []) {
    const periods = periodsOf(model);
    if (periods.length === 0) continue;
    const ids = new Set([model.id, ...equalIds(model.match), ...(knownSnapshots[model.id] ?? [])]);
    for (const id of ids) {
      // Some names of the source are labels that nothing is served under.
      if (calcPrice({ input_tokens: 1 }, id, { providerId: name })?.model.id !== model.id) continue;
      models.set(id, periods);
      if (allowsDates(model.match, id)) datedModels.add(id);
    }
  }
  return { models, datedModels, modifiers: pinnedModifiers[name] ?? [], otherConditions: 'unpriced' };
}

/**
 * The pinned price book: the data of `@pydantic/genai-prices` in our own form, by exact ids, with the tiers that the
 * package does not know and the stand-in price of the scripted model.
 */
export function readPinnedPriceBook(): PriceBook {
  const vendors = providerNames.map((name) => [name, readProvider(name)] as const);
  return {
    version: `genai-prices-${packageVersion}/lemniscate-${revision}`,
    providers: new Map([...vendors, ['scripted', scriptedPrices] as const]),
  };
}
