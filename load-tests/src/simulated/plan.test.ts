import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { drawFault, drawMs, noFaults } from './plan.ts';

test('a seed gives the same draws again, and faults come in their shares', () => {
  const draw = (seed: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 5 }, () =>
      drawMs({ kind: 'heavy', medianMs: 100, shape: 1.2, mostMs: 60_000 }, random),
    );
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  const random = seededRandom(3);
  const faults = Array.from({ length: 10_000 }, () =>
    drawFault({ ...noFaults, full: 0.1, cut: 0.05 }, random),
  );
  const share = (kind: string | null): number =>
    faults.filter((each) => each === kind).length / faults.length;
  assert.ok(
    Math.abs(share('full') - 0.1) < 0.02 && Math.abs(share('cut') - 0.05) < 0.02 && share('fail') === 0,
  );
});

test('a heavy tail has its median and is cut', () => {
  const random = seededRandom(1);
  const drawn = Array.from({ length: 20_001 }, () =>
    drawMs({ kind: 'heavy', medianMs: 100, shape: 1.1, mostMs: 5_000 }, random),
  ).sort((left, right) => left - right);
  assert.ok(Math.abs((drawn[10_000] ?? 0) - 100) < 5);
  assert.ok((drawn.at(-1) ?? 0) <= 5_000 && (drawn.at(-1) ?? 0) > 2_000);
});
