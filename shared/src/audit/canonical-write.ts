import type { JsonValue } from '../json.ts';
import { canonicalBytes, longestText, normalise } from './canonical.ts';

// Most drafts are plain: ASCII without escapes, whole numbers. They are written in one pass; normalising into a copy,
// looking whether it is in order and writing that took three times as long.

const plainText = /^[ !#-[\]-~]*$/;
const deepest = 16;

/** The bytes of `canonicalBytes(normalise(value))`. */
export function writeCanonical(value: JsonValue): Uint8Array {
  const text = writePlain(value, 0);
  return text === null ? canonicalBytes(normalise(value)) : Buffer.from(text, 'latin1');
}

/** The canonical text; null where something in it is not plain: faults, too, are the slow way's to tell. */
function writePlain(value: JsonValue, depth: number): string | null {
  if (typeof value === 'string') return isPlain(value) ? `"${value}"` : null;
  // -0 is written as 0
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (value === null) return 'null';
  if (depth >= deepest || typeof value !== 'object') return null;
  return Array.isArray(value) ? writeItems(value as readonly JsonValue[], depth) : writeMembers(value, depth);
}

const isPlain = (text: string): boolean => text.length <= longestText && plainText.test(text);

function writeItems(items: readonly JsonValue[], depth: number): string | null {
  let text = '';
  for (const item of items) {
    const written = writePlain(item, depth + 1);
    if (written === null) return null;
    text += text === '' ? written : `,${written}`;
  }
  return `[${text}]`;
}

function writeMembers(value: object, depth: number): string | null {
  const members = value as Readonly<Record<string, JsonValue | undefined>>;
  let text = '';
  // plain names: the order of UTF-16 units is that of bytes, and no two read the same
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    const written = isPlain(name) ? writePlain(member, depth + 1) : null;
    if (written === null) return null;
    text += `${text === '' ? '' : ','}"${name}":${written}`;
  }
  return `{${text}}`;
}
