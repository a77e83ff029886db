import { bucketNamed, invalid, readAmount, readList, readObject } from './given-prices.ts';
import { ownMember } from './json-reading.ts';
import type { ModifierCondition, PriceModifier } from './price-book.ts';

type Field = ModifierCondition['field'];

const conditionFields: Readonly<Record<string, Field>> = {
  tier: 'serviceTier',
  servicetier: 'serviceTier',
  processing: 'serviceTier',
  speed: 'speed',
  inferencegeo: 'region',
  geo: 'region',
  region: 'region',
  batch: 'batch',
};
const tierWords: Readonly<Record<string, readonly Field[]>> = {
  batch: ['batch'],
  flex: ['serviceTier'],
  priority: ['serviceTier'],
  // One vendor serves it as a speed, another one as a tier.
  fast: ['speed', 'serviceTier'],
};

/**
 * `service_tier=flex`, `speed=fast`, `inference_geo=us`, or a word of the name: `us`, `batch`, `fast mode`. A name that
 * states no condition always applies.
 * @throws CodedError `price_book_invalid` for a condition that no answer tells
 */
function readConditions(name: string, where: string): readonly ModifierCondition[] {
  const [key = '', value, ...rest] = name
    .toLowerCase()
    .split(/[=:]/)
    .map((part) => part.trim());
  if (key === 'us' && value === undefined) return [{ field: 'region', value: key }];
  if (value === undefined)
    return [...new Set(key.split(/[^a-z]+/))].flatMap((word) =>
      (ownMember(tierWords, word) ?? []).map((field) => ({ field, value: word })),
    );
  const field = ownMember(conditionFields, key.replaceAll(/[^a-z]/g, ''));
  if (field === undefined || value === '' || rest.length > 0)
    throw invalid(where, `no such condition: ${name}; known are service_tier, speed, inference_geo, batch`);
  return field === 'batch' || value === 'batch' ? [{ field: 'batch', value: 'batch' }] : [{ field, value }];
}

const modifierMembers = new Set(['name', 'factor', 'buckets', 'models']);

/**
 * Reads `{name, factor, buckets?, models?}`: one modifier for each condition that its name can mean, one without a
 * condition where it states none.
 * @throws CodedError `price_book_invalid` that names the place
 */
export function readModifier(value: unknown, where: string): PriceModifier[] {
  const given = readObject(value, where);
  const { name, factor, buckets, models } = given;
  for (const [member, content] of Object.entries(given)) {
    if (!modifierMembers.has(member) && typeof content === 'object' && content !== null) {
      throw invalid(`${where}.${member}`, `no such member; known are ${[...modifierMembers].join(', ')}`);
    }
  }
  if (typeof name !== 'string' || name === '') throw invalid(`${where}.name`, 'a name is needed');
  const conditions = readConditions(name, `${where}.name`);
  const named = buckets == null ? undefined : readList(buckets, `${where}.buckets`);
  const modifier: PriceModifier = {
    name,
    factor: readAmount(factor, `${where}.factor`),
    ...(models == null ? {} : { models: readList(models, `${where}.models`).map(String) }),
    ...(named === undefined
      ? {}
      : {
          buckets: named.map((bucket) => {
            const known = bucketNamed(String(bucket));
            if (known === undefined) throw invalid(`${where}.buckets`, `no such bucket: ${String(bucket)}`);
            return known;
          }),
        }),
  };
  return conditions.length === 0 ? [modifier] : conditions.map((when) => ({ ...modifier, when }));
}
