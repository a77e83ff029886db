import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daysOf, spanOf } from './span.ts';

const now = Date.parse('2026-03-01T10:00:00Z');

test('spans are whole days in UTC, today among them', () => {
  assert.deepEqual(spanOf('7d', now), { from: '2026-02-23', to: '2026-03-02' });
  assert.deepEqual(spanOf('month', now), { from: '2026-03-01', to: '2026-03-02' });
  assert.deepEqual(spanOf('last-month', now), { from: '2026-02-01', to: '2026-03-01' });
});

test('every day of a span has its place', () => {
  assert.deepEqual(daysOf('2026-02-27', '2026-03-02'), ['2026-02-27', '2026-02-28', '2026-03-01']);
});
