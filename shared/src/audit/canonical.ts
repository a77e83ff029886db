import canonicalize from 'canonicalize';
import { CodedError } from '../errors/coded-error.ts';
import type { JsonValue } from '../json.ts';
import { isPlainlyCanonical } from './canonical-scan.ts';

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
    .map(([key, member]) => [normaliseText(key), normalise(member, depth + 1)] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (new Set(members.map(([key]) => key)).size !== members.length)
    throw fault('has two keys that read the same');
  // fromEntries defines own members, so a key `__proto__` stays a key
  return Object.fromEntries(members);
}

/** RFC 8785 bytes of a normalised value: equal values give equal bytes on every machine. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  const text = canonicalText(value);
  if (text === undefined) throw fault('has no JSON form');
  return Buffer.from(text, 'utf8');
}

/** Whether bytes are exactly the canonical form of the JSON they hold; `value` is what they hold. */
export function readCanonical(bytes: Uint8Array): { value: JsonValue; canonical: boolean } | null {
  try {
    if (isPlainlyCanonical(bytes))
      return { value: JSON.parse(viewOf(bytes).toString('latin1')) as JsonValue, canonical: true };
    const text = decode(bytes);
    const value = JSON.parse(text) as JsonValue;
    return { value, canonical: canonicalText(value) === text };
  } catch {
    // the one thing a verifier needs to know of bytes that are no JSON is that they are none
    return null;
  }
}

/**
 * RFC 8785 takes numbers and strings as JSON.stringify writes them and sorts members, so where they are in order that is
 * it, five times as fast. A lone surrogate, which has no canonical form, is left to the library to refuse.
 */
function canonicalText(value: JsonValue): string | undefined {
  if (!isInOrder(value)) return canonicalize(value);
  const text = JSON.stringify(value);
  return text.includes(String.raw`\ud`) ? canonicalize(value) : text;
}

function isInOrder(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (isList(value)) return value.every(isInOrder);
  let before = '';
  for (const name of Object.keys(value)) {
    if (name < before) return false;
    const member = value[name];
    if (member === undefined || !isInOrder(member)) return false;
    before = name;
  }
  return true;
}

function decode(bytes: Uint8Array): string {
  const text = viewOf(bytes).toString('utf8');
  // what has no U+FFFD in it was no faulty UTF-8; the strict decoder takes three times as long
  return text.includes('\ufffd')
    ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    : text;
}

const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

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
