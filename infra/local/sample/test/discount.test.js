import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discountPercent } from '../src/discount.js';

test('a few pieces earn no discount', () => {
  assert.equal(discountPercent(1), 0);
  assert.equal(discountPercent(9), 0);
});

test('a discount begins with the quantity it is named for', () => {
  assert.equal(discountPercent(10), 5);
  assert.equal(discountPercent(50), 10);
  assert.equal(discountPercent(100), 15);
});

test('between two steps the lower one counts', () => {
  assert.equal(discountPercent(49), 5);
  assert.equal(discountPercent(99), 10);
});
