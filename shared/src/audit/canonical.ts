import canonicalize from 'canonicalize';
import { CodedError } from '../errors/coded-error.ts';
import type { JsonValue } from '../json.ts';

/** Longest string in an entry, in UTF-16 units: PATH_MAX, so that every path fits. What is longer is cut and says so. */
export const longestText = 4096;
/** Deepest nesting of an entry's body. */
const deepest = 16;

/**
 * Makes a value safe to hash, store and export. Poison text (NUL, which jsonb and several receivers refuse, and lone
 * surrogates, which have no UTF-8) becomes U+FFFD; over-long strings are cut with a mark that says how much is gone.
 * @throws CodedError `internal` for a number that JSON readers do not agree on (not finite, or a whole number beyond
 *   2^53: such go into entries as strings), two keys that become one, or nesting deeper than 16
 */
export function normalise(value: JsonValue, depth = 0): JsonValue {
  if (depth > deepest) throw fault(`is nested deeper than ${deepest} levels`);
  if (typeof value === 'string') return normaliseText(value);
  if (typeof value === 'number') return checkNumber(value);
  if (value === null || typeof value === 'boolean') return value;
  if (isList(value)) return value.map((item) => normalise(item, depth + 1));
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => [normaliseText(key), normalise(member, depth + 1)] as const);
  if (new Set(members.map(([key]) => key)).size !== members.length)
    throw fault('has two keys that read the same');
  // fromEntries defines own members, so a key `__proto__` stays a key
  return Object.fromEntries(members);
}

/** RFC 8785 bytes of a normalised value: equal values give equal bytes on every machine. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  const text = canonicalize(value);
  if (text === undefined) throw fault('has no JSON form');
  return Buffer.from(text, 'utf8');
}

/** Whether bytes are exactly the canonical form of the JSON they hold; `value` is what they hold. */
export function readCanonical(bytes: Uint8Array): { value: JsonValue; canonical: boolean } | null {
  try {
    const value = JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    ) as JsonValue;
    return { value, canonical: Buffer.compare(canonicalBytes(value), bytes) === 0 };
  } catch {
    // the one thing a verifier needs to know of bytes that are no JSON is that they are none
    return null;
  }
}

/** A text as it is hashed and stored: no NUL, no lone surrogate, cut where it is over-long. */
export function normaliseText(text: string): string {
  const whole = text.toWellFormed().replaceAll('\0', '\ufffd');
  if (whole.length <= longestText) return whole;
  const mark = `…[cut, ${whole.length} in all]`;
  return whole.slice(0, longestText - mark.length).toWellFormed() + mark;
}

function checkNumber(value: number): number {
  if (!Number.isFinite(value)) throw fault('holds a number that is not finite');
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw fault('holds a whole number beyond 2^53');
  return value;
}

// Array.isArray does not narrow readonly arrays
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function fault(what: string): CodedError {
  return new CodedError('internal', `An audit entry ${what}; the code that appends it must be mended.`);
}
