import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitedMs } from './waited-time.ts';

const at = (second: number): string => new Date(second * 1000).toISOString();

test('spans that overlap count once, an open one up to now', () => {
  assert.equal(waitedMs([], at(9)), 0);
  assert.equal(waitedMs([{ from: at(1), to: at(3) }], at(9)), 2_000);
  const overlapping = [
    { from: at(5), to: null },
    { from: at(1), to: at(4) },
    { from: at(2), to: at(3) },
  ];
  assert.equal(waitedMs(overlapping, at(9)), 3_000 + 4_000);
});
