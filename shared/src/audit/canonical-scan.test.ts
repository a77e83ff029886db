import assert from 'node:assert/strict';
import { test } from 'node:test';
import canonicalize from 'canonicalize';
import { isPlainlyCanonical } from './canonical-scan.ts';
import { readCanonical } from './canonical.ts';
import { seeded } from './testing/seeded.ts';

const plain = (text: string): boolean => isPlainlyCanonical(Buffer.from(text));

test('plain texts are told at a glance', () => {
  for (const text of ['{}', '[]', '0', '-1', '""', 'true', 'null', '{"a":[1,{"b":"c"}],"ab":false,"b":{}}'])
    assert.equal(plain(text), true, text);
});

test('what is not canonical is never taken for plain', () => {
  const texts = [
    '',
    ' {}',
    '{} ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    '01',
    '-0',
    '-',
    '1.0',
    '1e3',
    '+1',
    'nul',
  ]
    .concat(['truex', '"a', '"\t"', '{"b":1,"a":2}', '{"a":1,"a":1}', '{"ab":1,"a":2}', '{"a":1 ,"b":2}'])
    .concat(['1234567890123456', '[[]', '{}{}', '[1 2]', '{"a":1}}', `${'['.repeat(40)}${']'.repeat(40)}`]);
  for (const text of texts) assert.equal(plain(text), false, text);
  assert.equal(isPlainlyCanonical(Buffer.from([0x22, 0xff, 0x22])), false);
});

const letters = ['a', 'b', 'é', '"', '\\', '\u0001', '\u007f', '😀', '1', '10', '9', '__proto__'];

function anyValue(next: () => number, depth: number): unknown {
  const pick = Math.floor(next() * (depth > 3 ? 5 : 7));
  if (pick === 0) return Math.floor(next() * 2_000) - 1_000;
  if (pick === 1) return next() * 10 ** Math.floor(next() * 30 - 5);
  if (pick === 2) return next() < 0.5;
  if (pick === 3) return null;
  const text = (): string =>
    Array.from({ length: next() * 4 }, () => letters[Math.floor(next() * letters.length)]).join('');
  if (pick === 4) return text();
  if (pick === 5) return Array.from({ length: next() * 4 }, () => anyValue(next, depth + 1));
  return Object.fromEntries(Array.from({ length: next() * 4 }, () => [text(), anyValue(next, depth + 1)]));
}

/** The slow and simple judge: parse, write anew by the library, compare. */
function judge(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return canonicalize(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

test('fast and slow judge agree on 20,000 texts, whole and with a byte changed, added or gone', () => {
  const next = seeded(20_261_129);
  let canonical = 0;
  let quick = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const value = anyValue(next, 0);
    // as parsers keep members, in any order
    const whole = Buffer.from(next() < 0.5 ? (canonicalize(value) ?? '') : JSON.stringify(value));
    const at = Math.floor(next() * whole.length);
    const change = Math.floor(next() * 4);
    const bytes =
      change === 0
        ? whole
        : Buffer.concat([
            whole.subarray(0, at),
            change === 3 ? Buffer.alloc(0) : Buffer.of(Math.floor(next() * 256)),
            whole.subarray(change === 2 ? at : at + 1),
          ]);
    const expected = judge(bytes);
    assert.equal(readCanonical(bytes)?.canonical === true, expected, bytes.toString());
    if (isPlainlyCanonical(bytes)) assert.equal(expected, true, bytes.toString());
    canonical += Number(expected);
    quick += Number(isPlainlyCanonical(bytes));
  }
  assert.ok(
    canonical > 5_000 && quick > 2_000 && canonical < 18_000,
    `${canonical} canonical, ${quick} plain`,
  );
});
