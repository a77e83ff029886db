import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, bytes, plural, shortId, span, usd } from './format.ts';

test('money keeps the digits that matter', () => {
  assert.equal(usd('0'), '$0.00');
  assert.equal(usd('0.0123456'), '$0.0123');
  assert.equal(usd('1234.5'), '$1,234.50');
});

test('spans show their two largest units', () => {
  assert.deepEqual([840, 12_400, 200_000, 3_600_000, 7_500_000, 277_200_000].map(span), [
    '840 ms',
    '12.4 s',
    '3 m 20 s',
    '1 h',
    '2 h 5 m',
    '3 d 5 h',
  ]);
});

test('ages, sizes and ids are short', () => {
  const now = Date.parse('2026-11-29T10:00:00Z');
  assert.deepEqual(
    ['2026-11-29T09:59:58Z', '2026-11-29T09:59:20Z', '2026-11-29T09:50:00Z', '2026-11-20T10:00:00Z'].map(
      (at) => ago(at, now),
    ),
    ['now', '40s', '10m', '9d'],
  );
  assert.equal(bytes(2048), '2.0 KiB');
  assert.equal(plural(1, 'file'), '1 file');
  assert.equal(shortId('s_0123456789abcdefghijkl'), 's_0123…hijkl');
});
