import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGapWatch } from './credit-downtime.ts';

test('gaps between ticks are credited, ordinary distances are not', () => {
  let now = 0;
  const watch = createGapWatch({ monotonicMs: () => now }, 4_000, 60_000);
  assert.equal(watch.gapMs(), 60_000, 'before the first tick nobody knows');
  watch.ticked();
  now = 4_000;
  assert.equal(watch.gapMs(), 0);
  // A tick that fails is no tick: Postgres was away, and the gap grows.
  now = 9_000;
  assert.equal(watch.gapMs(), 9_000);
  watch.ticked();
  now = 10_000;
  assert.equal(watch.gapMs(), 0);
});
