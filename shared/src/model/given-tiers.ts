import { invalid, readList, readObject, readTokenPrices } from './given-prices.ts';
import { asObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import type { ContextTier } from './price-book.ts';

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
  if (!Number.isSafeInteger(tokens) || tokens < 0) {
    throw invalid(`${where}.${name}`, 'a whole number of tokens is needed');
  }
  const { [name]: _, perMTok, ...direct } = tier as Json;
  return {
    abovePromptTokens: inclusiveName.test(name) ? tokens - 1 : tokens,
    perMTok: readTokenPrices(perMTok ?? direct, `${where}.perMTok`),
  };
}

/** Members of a model's entry that hold context tiers, beside those whose name states a threshold. */
export const tierMembers = [
  'tiers',
  'contextTiers',
  'longContext',
  'above',
  'perMTokAbove',
  'perMTokLongContext',
];
export const holdsTiers = (name: string): boolean =>
  tierMembers.includes(name) || thresholdIn(name) !== undefined;

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

/** The tiers of a model's entry, the base first. */
export function readTiers(entry: Json, where: string): ContextTier[] {
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
