import type { JsonValue } from '@lemniscate/shared/json.ts';

/** A value far inside a document; null where any step of the way is not there. */
export function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue {
  let here: JsonValue | undefined = value;
  for (const name of path) {
    if (here === null || typeof here !== 'object' || Array.isArray(here) || !Object.hasOwn(here, name))
      return null;
    here = (here as Readonly<Record<string, JsonValue>>)[name];
  }
  return here ?? null;
}

/** The same as text; empty where it is none. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** A number's text, or a text; empty where it is neither. */
export function idAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'number' || typeof found === 'string' ? String(found) : '';
}

export function listAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonValue[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly JsonValue[]) : [];
}

/** An address that a browser opens; null for anything else. */
export function urlAt(value: JsonValue | undefined, ...path: readonly string[]): string | null {
  const text = textAt(value, ...path);
  return /^https?:\/\//.test(text) && URL.canParse(text) && text.length <= 2_048 ? text : null;
}

/** Text on one line within a length, as titles and labels are. */
export const oneLine = (text: string, most: number): string =>
  text
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .slice(0, most)
    .toWellFormed()
    .trim();
