import { CodedError } from '../errors/coded-error.ts';
import { Decimal } from './decimal.ts';
import { asObject, ownMember } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import type { PricedBucket, TokenPrices } from './price-book.ts';

const buckets: Readonly<Record<string, PricedBucket>> = {
  input: 'input',
  output: 'output',
  cacheread: 'cacheRead',
  cachereads: 'cacheRead',
  cachedinput: 'cacheRead',
  cachewrite: 'cacheWrite5m',
  cachewrites: 'cacheWrite5m',
  cachewrite5m: 'cacheWrite5m',
  cachewrite1h: 'cacheWrite1h',
};

/** The bucket of a name in any writing: `cacheRead`, `cache_read`, `cache_read_mtok`; undefined for others. */
export function bucketNamed(name: string): PricedBucket | undefined {
  return ownMember(buckets, name.toLowerCase().replaceAll(/_mtok$|[^a-z\d]/g, ''));
}

/** The error that names the place. */
export function invalid(where: string, what: string): CodedError {
  return new CodedError('price_book_invalid', `The price book is not valid at ${where}: ${what}.`, { where });
}

/** @throws CodedError `price_book_invalid`, as the others here */
export function readObject(value: unknown, where: string): Json {
  const object = asObject(value);
  if (object === undefined) throw invalid(where, 'an object is needed');
  return object;
}

export function readList(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(where, 'a list is needed');
  return value;
}

/** No price has more digits than this before or after its point; larger exponents would be texts of gigabytes. */
const largestExponent = 30;

/** A price or factor: a JSON number or a decimal text (`0.5`, `1e-3`), finite, not negative. */
export function readAmount(value: unknown, where: string): Decimal {
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  const isText = typeof value === 'string' && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(value);
  if (!isNumber && !isText) throw invalid(where, 'a number or a decimal text is needed');
  const amount = new Decimal(value);
  if (!amount.isZero() && Math.abs(amount.e) > largestExponent)
    throw invalid(where, `no price is so large or so small (${amount.toString()})`);
  if (amount.isNegative() && !amount.isZero())
    throw invalid(where, `a price cannot be negative (${amount.toFixed()})`);
  return amount;
}

/** Prices of a million tokens by bucket; input and output are needed. */
export function readTokenPrices(value: unknown, where: string): TokenPrices {
  const prices: Partial<Record<PricedBucket, Decimal>> = {};
  for (const [name, amount] of Object.entries(readObject(value, where))) {
    const bucket = bucketNamed(name);
    if (bucket === undefined) {
      throw invalid(
        `${where}.${name}`,
        'no such bucket; known are input, output, cacheRead, cacheWrite5m, cacheWrite1h',
      );
    }
    if (amount !== null && prices[bucket] !== undefined)
      throw invalid(`${where}.${name}`, `the price of ${bucket} is told twice`);
    // Null says that the bucket has no price of its own, like its absence.
    if (amount !== null) prices[bucket] = readAmount(amount, `${where}.${name}`);
  }
  const { input, output } = prices;
  if (input === undefined) throw invalid(`${where}.input`, 'the price of input is missing');
  if (output === undefined) throw invalid(`${where}.output`, 'the price of output is missing');
  return { ...prices, input, output };
}
