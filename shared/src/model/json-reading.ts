/** A JSON object of a provider, not yet looked at. */
export type Json = Readonly<Record<string, unknown>>;

/** The value as an object; undefined for everything else, null and lists included. */
export function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The value as a text that says something; null for everything else. */
export function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The value as a token count; undefined for what no provider can mean (negative, broken, too large, absent). */
export function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** Whether members that are told are all counts; one that is absent or null says nothing and is no fault. */
export function areCounts(object: Json | undefined, ...names: readonly string[]): boolean {
  return names.every((name) => object?.[name] == null || asCount(object[name]) !== undefined);
}

/** A member of a table by a name that somebody gives; what every object inherits (`constructor`) is none. */
export function ownMember<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Objects of a list; anything else in it is left out. */
export function asObjects(value: unknown): Json[] {
  if (!Array.isArray(value)) return [];
  return value.map(asObject).filter((item) => item !== undefined);
}

/** Parses JSON text that may be broken. */
export function parseObject(text: string): Json | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    // Cut streams end inside an event; what cannot be parsed carries no usage and the stream stays incomplete.
    return undefined;
  }
}
