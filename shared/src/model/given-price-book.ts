import { readModifier } from './given-modifiers.ts';
import { invalid, readAmount, readList, readObject } from './given-prices.ts';
import { holdsTiers, readTiers } from './given-tiers.ts';
import { ownMember } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { pinnedModifiers } from './modifiers.ts';
import type { PriceBook, PricePeriod } from './price-book.ts';

const entryMembers = new Set(['perMTok', 'from', 'tiers', 'webSearchPerThousand', 'fileSearchPerThousand']);

/** `webSearchPerThousand`, `web_searches_kcount`, `webSearchPerRequest`: what is searched, and for how many. */
const feeName =
  /^(web|file|storage)_?search(?:es)?_?(?:requests?_?)?(?:per_?)?(?:(thousand|1000|1k|k|kcount)|search|request|call)$/i;

/** Prices of what a provider bills by number, each for a thousand. */
function readFees(
  entry: Json,
  where: string,
): Pick<PricePeriod, 'webSearchPerThousand' | 'fileSearchPerThousand'> {
  const fees = Object.entries(entry).flatMap(([name, value]) => {
    const [match, searched = '', thousand] = feeName.exec(name) ?? [];
    if (match === undefined || value === null) return [];
    const amount = readAmount(value, `${where}.${name}`).times(thousand === undefined ? 1000 : 1);
    return [[/web/i.test(searched) ? 'webSearchPerThousand' : 'fileSearchPerThousand', amount] as const];
  });
  return Object.fromEntries(fees);
}

function readPeriod(value: unknown, where: string): PricePeriod {
  const entry = readObject(value, where);
  for (const [name, member] of Object.entries(entry)) {
    // Remarks may stand anywhere; a structure that we do not know could be a price that we would leave out.
    if (!entryMembers.has(name) && !holdsTiers(name) && typeof member === 'object' && member !== null) {
      throw invalid(`${where}.${name}`, `no such member; known are ${[...entryMembers].join(', ')}`);
    }
  }
  const { from } = entry;
  const start = from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(String(from));
  if (Number.isNaN(start)) throw invalid(`${where}.from`, 'a date such as 2026-11-02 is needed');
  return {
    from: start,
    tiers: readTiers(entry, where),
    ...readFees(entry, where),
  };
}

/**
 * Reads a price book that somebody gives (a project's override, the `prices` of a replayed call) in the form
 * `{currency: "USD", models: {ID: {perMTok: {input, output, cacheRead, cacheWrite5m, cacheWrite1h}}}, modifiers: [{name, factor}]}`.
 * A model may have `tiers: [{abovePromptTokens, perMTok}]` in many spellings (given-tiers.ts), `webSearchPerThousand`,
 * `fileSearchPerThousand`, or be a list of such entries with `from` dates. Where `modifiers` is absent the pinned ones hold.
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
              ? (ownMember(pinnedModifiers, provider) ?? [])
              : readList(modifiers, 'prices.modifiers').flatMap((one, index) =>
                  readModifier(one, `prices.modifiers[${index}]`),
                ),
        },
      ],
    ]),
  };
}
