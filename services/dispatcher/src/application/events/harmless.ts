import type { JsonValue } from '@lemniscate/shared/json.ts';

/**
 * Text that Postgres' jsonb can hold: NUL becomes its picture U+2400, half a surrogate pair becomes U+FFFD. jsonb
 * refuses both, and a batch that is refused for ever would stop its journal for ever.
 */
export function harmlessText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400');
}

/** The same for every text in a JSON value, member names included. */
export function harmless<Value extends JsonValue | object>(value: Value): Value {
  return map(value) as Value;
}

function map(value: unknown): unknown {
  if (typeof value === 'string') return harmlessText(value);
  if (Array.isArray(value)) return value.map(map);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [harmlessText(name), map(member)]));
}
