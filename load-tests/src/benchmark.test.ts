import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distribution, goalAtMost } from './benchmark.ts';

test('percentiles are the nearest ranks', () => {
  const rounds = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(distribution('a', 'ms', rounds), {
    name: 'a',
    unit: 'ms',
    n: 100,
    p50: 50,
    p99: 99,
    max: 100,
  });
  assert.deepEqual(distribution('a', 'ms', [7]), { name: 'a', unit: 'ms', n: 1, p50: 7, p99: 7, max: 7 });
});

test('a goal is met up to its value, and never by what was not measured', () => {
  assert.equal(goalAtMost('a', 'ms', 60, 60).met, true);
  assert.equal(goalAtMost('a', 'ms', 60, 60.1).met, false);
  assert.equal(goalAtMost('a', 'ms', 60, Number.NaN).met, false);
});
