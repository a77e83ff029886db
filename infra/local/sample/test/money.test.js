import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCents, roundCents, sumCents } from '../src/money.js';

test('halves are rounded away from zero', () => {
  assert.equal(roundCents(12.5), 13);
  assert.equal(roundCents(-12.5), -13);
});

test('amounts are printed with thousands', () => {
  assert.equal(formatCents(5), '0.05');
  assert.equal(formatCents(123456), '1,234.56');
  assert.equal(formatCents(-100000000), '-1,000,000.00');
});

test('an empty list adds up to nothing', () => {
  assert.equal(sumCents([]), 0);
});
