import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonValue } from '../json.ts';
import { canonicalBytes, longestText, normalise } from './canonical.ts';
import { writeCanonical } from './canonical-write.ts';
import { seeded } from './testing/seeded.ts';

/** What both ways make of a value: the bytes, or the fault. */
function outcome(write: () => Uint8Array): string {
  try {
    return Buffer.from(write()).toString('hex');
  } catch (error) {
    return String(error);
  }
}
const agree = (value: JsonValue): void =>
  assert.equal(
    outcome(() => writeCanonical(value)),
    outcome(() => canonicalBytes(normalise(value))),
    JSON.stringify(value),
  );

test('what is written in one pass is what normalising and writing make of it', () => {
  const deep = (levels: number): JsonValue =>
    JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`) as JsonValue;
  const numbers = [0, -0, 1, -1, 2 ** 53 - 1, 2 ** 53, 1.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY];
  const texts = ['', 'a', '"', '\\', '\u007f', '\u001f', ' ', '~', 'é', '\ud800', '\0', '\n'];
  const long = [longestText, longestText + 1].map((length) => 'a'.repeat(length));
  const others: JsonValue[] = [
    JSON.parse('{"__proto__":{"a":1},"b":[]}') as JsonValue,
    { b: 1, a: [{}, [], null, true, false], '10': 1, '9': 2, aa: '', a1: 'x' },
    { 'k\0': 1, 'k\ufffd': 2 },
    { absent: undefined as unknown as JsonValue, there: 1 },
  ];
  const values: JsonValue[] = [...numbers, ...texts, ...long, ...[15, 16, 17].map(deep), ...others];
  for (const value of values) agree(value);
});

const letters = [
  'a',
  'b',
  'Z',
  '10',
  '9',
  '_',
  '~',
  ' ',
  'é',
  '"',
  '\\',
  '\u0001',
  '😀',
  '\ud800',
  '\0',
  '__proto__',
];

function anyValue(next: () => number, plain: number, depth: number): JsonValue {
  const text = (): string =>
    Array.from({ length: next() * 4 }, () => letters[Math.floor(next() * plain)] ?? '').join('');
  const pick = Math.floor(next() * (depth > 3 ? 5 : 7));
  if (pick === 0) return Math.floor(next() * 2_000) - 1_000;
  if (pick === 1) return plain < 9 ? 7 : next() * 10 ** Math.floor(next() * 30 - 5);
  if (pick === 2) return next() < 0.5;
  if (pick === 3) return null;
  if (pick === 4) return text();
  if (pick === 5) return Array.from({ length: next() * 4 }, () => anyValue(next, plain, depth + 1));
  return Object.fromEntries(
    Array.from({ length: next() * 4 }, () => [text(), anyValue(next, plain, depth + 1)]),
  );
}

test('the two ways agree on 20,000 generated values, plain and not', () => {
  const next = seeded(7);
  for (let round = 0; round < 20_000; round += 1)
    agree(anyValue(next, round % 2 === 0 ? 8 : letters.length, 0));
});
