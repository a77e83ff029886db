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

/** Members of a model's entry that hold context tiers: `tiers`, `longContext`, `perMTokAbove`, `above200k`. */
export const holdsTiers = (name: string): boolean =>
  /tier|long|above|over|threshold/i.test(name) || rangeInName(name) !== undefined;

interface RangedAmount {
  readonly range: PromptRange | undefined;
  readonly amount: unknown;
}

/** A price that depends on the prompt: `{base, tiers: [{start, price}]}` as in `@pydantic/genai-prices`, `{base, above200k}`. */
function readAmounts(value: Json, where: string): readonly RangedAmount[] {
  return Object.entries(value).flatMap(([name, content]): readonly RangedAmount[] => {
    const range = rangeInName(name);
    if (range !== undefined || /^(?:base|default|standard)$/i.test(name)) return [{ range, amount: content }];
    if (name !== 'tiers')
      throw invalid(`${where}.${name}`, 'no such member; known are base, tiers and above200k');
    return readList(content, `${where}.tiers`).map((one, index) => {
      const place = `${where}.tiers[${index}]`;
      const { price, ...rest } = readObject(one, place);
      return { range: readRange(rest, place), amount: price };
    });
  });
}

const startOf = (range: PromptRange | undefined): number => range?.above ?? 0;
const endOf = (range: PromptRange | undefined): number => range?.upTo ?? Number.POSITIVE_INFINITY;

/** Prices that have tiers each, as tiers of all of them; one without is the same in every tier. */
function readPrices(value: unknown, where: string): readonly RangedPrices[] {
  const prices = readObject(value, where);
  const spread = new Map(
    Object.entries(prices).flatMap(([name, price]) => {
      const object = asObject(price);
      return object === undefined ? [] : [[name, readAmounts(object, `${where}.${name}`)] as const];
    }),
  );
  if (spread.size === 0) return [{ range: undefined, perMTok: readTokenPrices(prices, where), where }];
  const starts = bordersOf([...spread.values()].flat());
  return starts.map((above, index) => {
    const chosen = [...spread].map(([name, amounts]) => [name, closest(above + 1, amounts)?.amount]);
    return {
      range: { above, upTo: starts[index + 1] ?? Number.POSITIVE_INFINITY },
      perMTok: readTokenPrices({ ...prices, ...Object.fromEntries(chosen) }, where),
      where,
    };
  });
}

/** Prompts at which something changes, ascending; the first is 0. */
function bordersOf(ranged: readonly { readonly range: PromptRange | undefined }[]): number[] {
  const borders = ranged.flatMap(({ range }) => [startOf(range), endOf(range)]);
  return [...new Set([0, ...borders])].filter(Number.isFinite).sort((left, right) => left - right);
}

/** What holds for a prompt: that which begins last and then ends first, or that without a range. */
function closest<T extends { readonly range: PromptRange | undefined }>(
  prompt: number,
  all: readonly T[],
): T | undefined {
  const [found] = all
    .filter(({ range }) => range !== undefined && startOf(range) < prompt && prompt <= endOf(range))
    .sort(
      (left, right) => startOf(right.range) - startOf(left.range) || endOf(left.range) - endOf(right.range),
    );
  return found ?? all.find(({ range }) => range === undefined);
}

/** Ascending tiers of every prompt. */
function layOut(tiers: readonly RangedPrices[]): ContextTier[] {
  refuseAmbiguous(tiers);
  return bordersOf(tiers).map((abovePromptTokens) => ({
    abovePromptTokens,
    perMTok: closest(abovePromptTokens + 1, tiers)?.perMTok ?? null,
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
      // A threshold beside its tier, or a remark.
      if (typeof value !== 'object' || value === null) return [];
      const list = Array.isArray(value) ? value : [value];
      return list.map((tier: unknown, index) =>
        readTier(tier, `${where}.${member}[${index}]`, member, beside),
      );
    });
  // Tiers alone may be the whole price.
  if (entry['perMTok'] === undefined && told.length > 0) return layOut(told);
  return layOut([...readPrices(entry['perMTok'], `${where}.perMTok`), ...told]);
}
