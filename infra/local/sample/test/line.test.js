import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLine, lineCents } from '../src/line.js';

test('a line costs quantity times price', () => {
  assert.equal(lineCents(createLine('apples', 3, 45, 'food')), 135);
});

test('half a piece is refused', () => {
  assert.throws(() => createLine('apples', 0.5, 45), /whole number/);
});
