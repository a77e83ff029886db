import { invalid, readList, readObject, readTokenPrices } from './given-prices.ts';
import { rangeInName, readRange, withoutThresholds } from './given-thresholds.ts';
import type { PromptRange } from './given-thresholds.ts';
import { asObject } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import type { ContextTier, TokenPrices } from './price-book.ts';

/** Prices with the prompts that they hold for; without a range for those that no other one holds for. */
interface RangedPrices {
  readonly range: PromptRange | undefined;
  readonly perMTok: TokenPrices;
  readonly where: string;
}

/** Where a model's entry tells the threshold of its only tier beside it and not in it. */
function thresholdBeside(entry: Json): Json {
  return Object.fromEntries(
    Object.entries(entry).filter(
      ([name, value]) => typeof value === 'number' && /threshold|above|over/i.test(name),
    ),
  );
}

function readTier(value: unknown, where: string, member: string, beside: Json): RangedPrices {
  const given = readObject(value, where);
  const { perMTok, prices, ...rest } = given;
  const inside = readRange(rest, where);
  return {
    range: rangeInName(member) ?? inside ?? readRange(beside, where),
    perMTok: readTokenPrices(perMTok ?? prices ?? withoutThresholds(rest), `${where}.perMTok`),
    where,
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
  tierMembers.includes(name) || rangeInName(name) !== undefined;

/** Prices that have tiers each: `{base, tiers: [{start, price}]}`, the form of `@pydantic/genai-prices`. */
function spreadTiers(value: unknown, where: string): { readonly base: unknown; readonly above: Json[] } {
  const prices = readObject(value, where);
  const tiered = Object.entries(prices).flatMap(([name, price]) => {
    const object = asObject(price);
    return object === undefined ? [] : [[name, object] as const];
  });
  if (tiered.length === 0) return { base: value, above: [] };
  const startsOf = (name: string, price: Json): readonly (readonly [number, unknown])[] =>
    readList(price['tiers'], `${where}.${name}.tiers`)
      .map((one, index): readonly [number, unknown] => {
        const place = `${where}.${name}.tiers[${index}]`;
        const { start, price: amount } = readObject(one, place);
        if (!Number.isSafeInteger(start))
          throw invalid(`${place}.start`, 'a whole number of tokens is needed');
        return [Number(start), amount];
      })
      .sort(([left], [right]) => left - right);
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

/** The prices of a prompt: of the tier that begins last and then ends first, or those without a range, or none. */
function pricesFor(prompt: number, tiers: readonly RangedPrices[]): TokenPrices | null {
  const [closest] = tiers
    .filter(({ range }) => range !== undefined && range.above < prompt && prompt <= range.upTo)
    .sort(
      ({ range: left }, { range: right }) =>
        (right?.above ?? 0) - (left?.above ?? 0) || (left?.upTo ?? 0) - (right?.upTo ?? 0),
    );
  return (closest ?? tiers.find(({ range }) => range === undefined))?.perMTok ?? null;
}

/** Ascending tiers of every prompt. */
function layOut(tiers: readonly RangedPrices[]): ContextTier[] {
  refuseAmbiguous(tiers);
  const borders = tiers.flatMap(({ range }) => (range === undefined ? [] : [range.above, range.upTo]));
  return [...new Set([0, ...borders])]
    .filter(Number.isFinite)
    .sort((left, right) => left - right)
    .map((abovePromptTokens) => ({
      abovePromptTokens,
      perMTok: pricesFor(abovePromptTokens + 1, tiers),
    }));
}

function refuseAmbiguous(tiers: readonly RangedPrices[]): void {
  const [, secondRest] = tiers.filter(({ range }) => range === undefined);
  if (secondRest !== undefined)
    throw invalid(secondRest.where, 'a threshold in tokens of the whole prompt is needed');
  const seen = new Set<string>();
  for (const { range, where } of tiers) {
    const key = `${range?.above} to ${range?.upTo}`;
    if (seen.has(key)) throw invalid(where, 'another tier holds for the same prompts');
    seen.add(key);
  }
}

/**
 * The tiers of a model's entry, the lowest first. Prompts that no tier holds for have no price.
 * @throws CodedError `price_book_invalid` where two prices hold for the same prompts
 */
export function readTiers(entry: Json, where: string): ContextTier[] {
  const beside = thresholdBeside(entry);
  const told = Object.keys(entry)
    .filter(holdsTiers)
    .flatMap((member) => {
      const value = entry[member];
      if (value === undefined || value === null || typeof value === 'number') return [];
      const list = Array.isArray(value) ? value : [value];
      return list.map((tier: unknown, index) =>
        readTier(tier, `${where}.${member}[${index}]`, member, beside),
      );
    });
  // Tiers alone may be the whole price.
  if (entry['perMTok'] === undefined && told.length > 0) return layOut(told);
  const spread = spreadTiers(entry['perMTok'], `${where}.perMTok`);
  const base = { range: undefined, perMTok: readTokenPrices(spread.base, `${where}.perMTok`), where };
  const each = spread.above.map((tier) => readTier(tier, `${where}.perMTok`, 'perMTok', {}));
  return layOut([base, ...told, ...each]);
}
