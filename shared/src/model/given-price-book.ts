import { bucketNames, invalid, readAmount, readList, readObject } from './given-prices.ts';
import { holdsTiers, readTiers, tierMembers } from './given-tiers.ts';
import { pinnedModifiers } from './modifiers.ts';
import type { ModifierCondition, PriceBook, PriceModifier, PricePeriod } from './price-book.ts';

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
