import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueDate } from '../src/due-date.js';

test('an invoice is due after thirty days', () => {
  assert.equal(dueDate('2026-03-03'), '2026-04-02');
});

test('a due date on a weekend moves to Monday', () => {
  assert.equal(dueDate('2026-05-01', 1), '2026-05-04');
});
