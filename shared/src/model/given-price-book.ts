import { CodedError } from '../errors/coded-error.ts';
import { Decimal } from './decimal.ts';
import { asObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { pinnedModifiers } from './modifiers.ts';
import type {
  ContextTier,
  ModifierCondition,
  PriceBook,
  PriceModifier,
  PricePeriod,
  PricedBucket,
  TokenPrices,
} from './price-book.ts';

/** Accepted spellings of the buckets. */
const bucketNames: Readonly<Record<string, PricedBucket>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cacheRead',
  cachedInput: 'cacheRead',
  cacheWrite: 'cacheWrite5m',
  cacheWrite5m: 'cacheWrite5m',
  cacheWrite1h: 'cacheWrite1h',
};

function invalid(where: string, what: string): CodedError {
  return new CodedError('price_book_invalid', `The price book is not valid at ${where}: ${what}.`, { where });
}

function readObject(value: unknown, where: string): Json {
  const object = asObject(value);
  if (object === undefined) throw invalid(where, 'an object is needed');
  return object;
}

function readList(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(where, 'a list is needed');
  return value;
}

/** A price or factor: a JSON number or a decimal text, finite, not negative. */
function readAmount(value: unknown, where: string): Decimal {
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  const isText = typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value);
  if (!isNumber && !isText) throw invalid(where, 'a number or a decimal text is needed');
  const amount = new Decimal(value);
  if (amount.isNegative() && !amount.isZero())
    throw invalid(where, `a price cannot be negative (${amount.toFixed()})`);
  return amount;
}

function readTokenPrices(value: unknown, where: string): TokenPrices {
  const prices: Partial<Record<PricedBucket, Decimal>> = {};
  for (const [name, amount] of Object.entries(readObject(value, where))) {
    const bucket = bucketNames[name];
    if (bucket === undefined) {
      throw invalid(`${where}.${name}`, `no such bucket; known are ${Object.keys(bucketNames).join(', ')}`);
    }
    // Null says that the bucket has no price of its own, like its absence.
    if (amount !== null) prices[bucket] = readAmount(amount, `${where}.${name}`);
  }
  const { input, output } = prices;
  if (input === undefined) throw invalid(`${where}.input`, 'the price of input is missing');
  if (output === undefined) throw invalid(`${where}.output`, 'the price of output is missing');
  return { ...prices, input, output };
}

const thresholdName = /above|over|threshold|start|from|least|prompt|context|tokens/i;
const inclusiveName = /from|least|start(?:s|ing)?At/i;

/** A threshold that a name itself states: `above200k`, `perMTokOver200000`. */
function thresholdIn(name: string): number | undefined {
  const [, digits, unit] = /(?:above|over)_?(\d+)_?(k|m)?/i.exec(name) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (unit === undefined ? 1 : unit.toLowerCase() === 'k' ? 1_000 : 1_000_000);
}

/** Where a model's entry tells the threshold of its only tier beside it and not in it. */
function thresholdBeside(entry: Json): Json {
  return Object.fromEntries(
    Object.entries(entry).filter(
      ([name, value]) => typeof value === 'number' && /threshold|above|over/i.test(name),
    ),
  );
}

/** A context tier: its prices and one threshold in tokens of the whole prompt. */
function readTier(value: unknown, where: string, member: string, beside: Json): ContextTier {
  const given = readObject(value, where);
  const named = thresholdIn(member);
  const isThreshold = ([name, amount]: [string, unknown]): boolean =>
    typeof amount === 'number' && thresholdName.test(name);
  const tier = {
    ...(named === undefined ? {} : { above: named }),
    ...(named === undefined && !Object.entries(given).some(isThreshold) ? beside : {}),
    ...given,
  };
  const [threshold, ...rest] = Object.entries(tier).filter(isThreshold);
  if (threshold === undefined || rest.length > 0)
    throw invalid(where, 'exactly one threshold in tokens is needed');
  const [name, tokens] = threshold;
  if (!Number.isSafeInteger(tokens) || Number(tokens) < 0) {
    throw invalid(`${where}.${name}`, 'a whole number of tokens is needed');
  }
  const { [name]: _, perMTok, ...direct } = tier as Json;
  return {
    abovePromptTokens: inclusiveName.test(name) ? Number(tokens) - 1 : Number(tokens),
    perMTok: readTokenPrices(perMTok ?? direct, `${where}.perMTok`),
  };
}

/** Members of a model's entry that hold context tiers, beside those whose name states a threshold. */
const tierMembers = ['tiers', 'contextTiers', 'longContext', 'above', 'perMTokAbove', 'perMTokLongContext'];
const holdsTiers = (name: string): boolean => tierMembers.includes(name) || thresholdIn(name) !== undefined;

/** Prices that have tiers each: `{base, tiers: [{start, price}]}`, the form of `@pydantic/genai-prices`. */
function spreadTiers(value: unknown, where: string): { readonly base: unknown; readonly above: Json[] } {
  const prices = readObject(value, where);
  const tiered = Object.entries(prices).flatMap(([name, price]) => {
    const object = asObject(price);
    return object === undefined ? [] : [[name, object] as const];
  });
  if (tiered.length === 0) return { base: value, above: [] };
  const startsOf = (name: string, price: Json): readonly (readonly [number, unknown])[] =>
    readList(price['tiers'], `${where}.${name}.tiers`).map((one, index) => {
      const place = `${where}.${name}.tiers[${index}]`;
      const { start, price: amount } = readObject(one, place);
      if (!Number.isSafeInteger(start)) throw invalid(`${place}.start`, 'a whole number of tokens is needed');
      return [Number(start), amount];
    });
  const starts = new Map(tiered.map(([name, price]) => [name, startsOf(name, price)]));
  const pricesFrom = (tokens: number): Json => ({
    ...prices,
    ...Object.fromEntries(
      tiered.map(([name, price]) => [
        name,
        starts.get(name)?.findLast(([start]) => start <= tokens)?.[1] ?? price['base'],
      ]),
    ),
  });
  const thresholds = new Set([...starts.values()].flatMap((all) => all.map(([start]) => start)));
  return {
    base: pricesFrom(-1),
    above: [...thresholds].map((tokens) => ({ above: tokens, perMTok: pricesFrom(tokens) })),
  };
}

function readTiers(entry: Json, where: string): ContextTier[] {
  const spread = spreadTiers(entry['perMTok'], `${where}.perMTok`);
  const beside = thresholdBeside(entry);
  const more = Object.keys(entry)
    .filter(holdsTiers)
    .flatMap((member) => {
      const value = entry[member];
      if (value === undefined || value === null || typeof value === 'number') return [];
      const list = Array.isArray(value) ? value : [value];
      return list.map((tier: unknown, index) =>
        readTier(tier, `${where}.${member}[${index}]`, member, beside),
      );
    });
  const each = spread.above.map((tier) => readTier(tier, `${where}.perMTok`, 'perMTok', {}));
  const base = { abovePromptTokens: 0, perMTok: readTokenPrices(spread.base, `${where}.perMTok`) };
  return [base, ...more, ...each].sort((left, right) => left.abovePromptTokens - right.abovePromptTokens);
}

const entryMembers = new Set<string>([...tierMembers, 'perMTok', 'from', 'webSearchPerThousand']);

function readPeriod(value: unknown, where: string): PricePeriod {
  const entry = readObject(value, where);
  for (const [name, member] of Object.entries(entry)) {
    // Remarks may stand anywhere; a structure that we do not know could be a price that we would leave out.
    if (!entryMembers.has(name) && !holdsTiers(name) && typeof member === 'object' && member !== null) {
      throw invalid(`${where}.${name}`, `no such member; known are ${[...entryMembers].join(', ')}`);
    }
  }
  const { from, webSearchPerThousand } = entry;
  const start = from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(String(from));
  if (Number.isNaN(start)) throw invalid(`${where}.from`, 'a date such as 2026-11-02 is needed');
  return {
    from: start,
    tiers: readTiers(entry, where),
    ...(webSearchPerThousand === undefined
      ? {}
      : { webSearchPerThousand: readAmount(webSearchPerThousand, `${where}.webSearchPerThousand`) }),
  };
}

const conditionFields: Readonly<Record<string, ModifierCondition['field']>> = {
  service_tier: 'serviceTier',
  serviceTier: 'serviceTier',
  speed: 'speed',
  inference_geo: 'region',
  region: 'region',
  batch: 'batch',
};
const tierWords: Readonly<Record<string, ModifierCondition['field']>> = {
  batch: 'batch',
  flex: 'serviceTier',
  priority: 'serviceTier',
  fast: 'speed',
  us: 'region',
};

/** `service_tier=flex`, `speed=fast`, `inference_geo=us`, `batch`; a name that states no condition always applies. */
function readCondition(name: string): ModifierCondition | undefined {
  const [key = '', value] = name.split('=').map((part) => part.trim());
  if (value === undefined) {
    const field = tierWords[key];
    return field === undefined ? undefined : { field, value: key };
  }
  if (value === 'batch' || key === 'batch') return { field: 'batch', value: 'batch' };
  const field = conditionFields[key];
  return field === undefined ? undefined : { field, value };
}

const modifierMembers = new Set(['name', 'factor', 'buckets', 'models']);

function readModifier(value: unknown, where: string): PriceModifier {
  const given = readObject(value, where);
  const { name, factor, buckets, models } = given;
  for (const [member, content] of Object.entries(given)) {
    if (!modifierMembers.has(member) && typeof content === 'object' && content !== null) {
      throw invalid(`${where}.${member}`, `no such member; known are ${[...modifierMembers].join(', ')}`);
    }
  }
  if (typeof name !== 'string' || name === '') throw invalid(`${where}.name`, 'a name is needed');
  const when = readCondition(name);
  const named = buckets === undefined ? undefined : readList(buckets, `${where}.buckets`);
  return {
    name,
    factor: readAmount(factor, `${where}.factor`),
    ...(when === undefined ? {} : { when }),
    ...(models === undefined ? {} : { models: readList(models, `${where}.models`).map(String) }),
    ...(named === undefined
      ? {}
      : {
          buckets: named.map((bucket) => {
            const known = bucketNames[String(bucket)];
            if (known === undefined) throw invalid(`${where}.buckets`, `no such bucket: ${String(bucket)}`);
            return known;
          }),
        }),
  };
}

/**
 * Reads a price book that somebody gives (a project's override, the `prices` of a replayed call) in the form
 * `{currency: "USD", models: {ID: {perMTok: {input, output, cacheRead, cacheWrite5m, cacheWrite1h}, tiers: [{abovePromptTokens, perMTok}]}}, modifiers: [{name, factor}]}`.
 * A model may be a list of such entries with `from` dates. Where `modifiers` is absent the pinned ones hold.
 * @throws CodedError `price_book_invalid` that names the place
 */
export function readGivenPriceBook(value: unknown, provider: string): PriceBook {
  const book = readObject(value, 'prices');
  const currency = book['currency'] ?? 'USD';
  if (currency !== 'USD') throw invalid('prices.currency', 'prices are in USD');
  const given = Object.entries(readObject(book['models'], 'prices.models'));
  // Null says that there is no price, like absence.
  const models = given
    .filter(([, entry]) => entry !== null)
    .map(([id, entry]): readonly [string, readonly PricePeriod[]] => {
      const where = `prices.models.${id}`;
      return Array.isArray(entry)
        ? [id, entry.map((one: unknown, index) => readPeriod(one, `${where}[${index}]`))]
        : [id, [readPeriod(entry, where)]];
    });
  const { modifiers } = book;
  return {
    version: `given-${typeof book['asOf'] === 'string' ? book['asOf'] : 'undated'}`,
    providers: new Map([
      [
        provider,
        {
          models: new Map(models),
          datedModels: new Set(),
          otherConditions: modifiers === undefined ? 'unpriced' : 'standard',
          modifiers:
            modifiers === undefined
              ? (pinnedModifiers[provider] ?? [])
              : readList(modifiers, 'prices.modifiers').map((one, index) =>
                  readModifier(one, `prices.modifiers[${index}]`),
                ),
        },
      ],
    ]),
  };
}
