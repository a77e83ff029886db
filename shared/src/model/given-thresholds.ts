import { invalid } from './given-prices.ts';
import { asObject, ownMember } from './json-reading.ts';
import type { Json } from './json-reading.ts';

/** The whole prompts that a context tier holds for, in tokens: more than `above`, at most `upTo`. */
export interface PromptRange {
  readonly above: number;
  readonly upTo: number;
}

const everyPrompt: PromptRange = { above: 0, upTo: Number.POSITIVE_INFINITY };

type Side = 'above' | 'from' | 'below' | 'upTo';

const sideWords: Readonly<Record<string, Side>> = {
  ...wordsFor('above', 'above over gt greater more exceeds exceeding beyond after start threshold'),
  ...wordsFor('from', 'from min minimum least gte ge starts starting since'),
  ...wordsFor('below', 'below under lt less fewer before'),
  ...wordsFor('upTo', 'max maximum upto up until till through to most lte le end'),
};

function wordsFor(side: Side, words: string): Readonly<Record<string, Side>> {
  return Object.fromEntries(words.split(' ').map((word) => [word, side]));
}

const signs: Readonly<Record<string, Side>> = { '>': 'above', '>=': 'from', '<': 'below', '<=': 'upTo' };

/** What a member's name says of a threshold; undefined where it says nothing. */
function sideOf(name: string): Side | undefined {
  const sign = ownMember(signs, name.trim());
  if (sign !== undefined) return sign;
  const words = name
    .replace(/([a-z\d])(?=[A-Z])/g, '$1 ')
    .toLowerCase()
    .split(/[^a-z]+/);
  // `startAt` is the first prompt that it holds for; `start` alone is what the pinned source calls the last before it.
  if (words.includes('start') && words.includes('at')) return 'from';
  return words.flatMap((word) => ownMember(sideWords, word) ?? []).at(-1);
}

/** A number under such a name is a threshold too: `promptTokens: 200000`. */
const isVagueThreshold = (name: string, value: unknown): boolean =>
  typeof value === 'number' && /above|over|prompt|context|tokens/i.test(name);

/** A number of tokens: `200000`, `"200_000"`, `"200k"`; undefined for what is none. */
function tokensIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const [, digits, unit] =
    typeof value === 'string' ? (/^\s*(\d[\d_,]*(?:\.\d+)?)\s*(k|m)?\s*$/i.exec(value) ?? []) : [];
  if (digits === undefined) return undefined;
  const factor = unit === undefined ? 1 : unit.toLowerCase() === 'k' ? 1_000 : 1_000_000;
  return Math.round(Number(digits.replaceAll(/[_,]/g, '')) * factor);
}

/** A threshold that a name itself states: `above200k`, `perMTokOver200000`, `under128k`. */
export function rangeInName(name: string): PromptRange | undefined {
  const [, word = '', tokens] = /(above|over|under|below|upTo)_?(\d+_?[km]?)(?![a-z\d])/i.exec(name) ?? [];
  const side = sideOf(word);
  const count = tokensIn(tokens?.replaceAll('_', ''));
  return side === undefined || count === undefined ? undefined : narrow(everyPrompt, side, count);
}

function narrow(range: PromptRange, side: Side, tokens: number): PromptRange {
  switch (side) {
    case 'above':
      return { ...range, above: tokens };
    case 'from':
      return { ...range, above: Math.max(0, tokens - 1) };
    case 'below':
      return { ...range, upTo: tokens - 1 };
    case 'upTo':
      return { ...range, upTo: tokens };
  }
}

interface Threshold {
  readonly side: Side;
  readonly name: string;
  readonly value: unknown;
}

/** Members that say for which prompts a tier holds, laid flat: `{promptTokens: {gt: 200000}}`, `{when: {min: 200000}}`. */
function thresholdsIn(value: Json, within = ''): readonly Threshold[] {
  return Object.entries(value).flatMap(([member, content]) => {
    const name = within === '' ? member : `${within}.${member}`;
    const inner = asObject(content);
    if (inner !== undefined) return isCondition(inner) ? thresholdsIn(inner, name) : [];
    const side = sideOf(member) ?? (isVagueThreshold(member, content) ? 'above' : undefined);
    return side === undefined || Array.isArray(content) ? [] : [{ side, name, value: content }];
  });
}

function isCondition(value: Json): boolean {
  return Object.entries(value).some(([name, content]) => {
    const inner = asObject(content);
    return inner === undefined ? sideOf(name) !== undefined : isCondition(inner);
  });
}

/** The prices of a tier that stand in it and not in `perMTok`: what is no condition. */
export function withoutThresholds(tier: Json): Json {
  return Object.fromEntries(
    Object.entries(tier).filter(([name, content]) => {
      const inner = asObject(content);
      if (inner !== undefined) return !isCondition(inner);
      return sideOf(name) === undefined && !isVagueThreshold(name, content);
    }),
  );
}

/**
 * For which prompts a tier holds: `{abovePromptTokens: 200000}`, `{minPromptTokens: 200000}`, `{upTo: 128000}`,
 * `{promptTokens: {gt: 200000}}`, or both ends. Undefined where it says nothing.
 * @throws CodedError `price_book_invalid` for two words on one end, and for what is no number of tokens
 */
export function readRange(tier: Json, where: string): PromptRange | undefined {
  let range = everyPrompt;
  const told = new Set<string>();
  for (const { side, name, value } of thresholdsIn(tier)) {
    const end = side === 'above' || side === 'from' ? 'lower' : 'upper';
    if (told.has(end)) throw invalid(where, `only one threshold for the ${end} end is possible`);
    told.add(end);
    // Null says that there is no such end.
    if (value === null) continue;
    const tokens = tokensIn(value);
    if (tokens === undefined || !Number.isSafeInteger(tokens) || tokens < 0)
      throw invalid(`${where}.${name}`, 'a whole number of tokens is needed');
    range = narrow(range, side, tokens);
  }
  if (range.above >= range.upTo) throw invalid(where, 'no prompt is within these thresholds');
  return told.size === 0 ? undefined : range;
}
