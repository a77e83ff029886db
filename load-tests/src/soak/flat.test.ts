import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findGrowth, heldOverTime } from './flat.ts';
import type { Holding } from './flat.ts';

const mebibyte = 1024 * 1024;
const soak = (memory: (share: number) => number, handles: (share: number) => number): Holding[] =>
  Array.from({ length: 100 }, (_, index) => ({
    atMs: index * 1_000,
    memoryBytes: memory(index / 100) * mebibyte,
    handles: handles(index / 100),
  }));

const growthOf = (seen: readonly Holding[]) => findGrowth('a', heldOverTime(seen));

test('a saw is flat, and so is a start that warms up', () => {
  assert.deepEqual(
    growthOf(
      soak(
        (share) => 150 + 60 * ((share * 17) % 1),
        () => 90,
      ),
    ),
    [],
  );
  assert.deepEqual(
    growthOf(
      soak(
        (share) => (share < 0.2 ? 60 + share * 500 : 160),
        () => 90,
      ),
    ),
    [],
  );
});

test('a leak of memory and one of handles are told', () => {
  const found = growthOf(
    soak(
      (share) => 150 + 300 * share,
      (share) => 50 + 400 * share,
    ),
  );
  assert.match(found.join(' '), /memory grew .* open files grew/);
  assert.match(growthOf([]).join(' '), /only 0 looks/);
});
