import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatchUp } from './catch-up.ts';

test('of many that catch up two read at once, in their order, and one that fails hands its turn on', async () => {
  const catchUp = createCatchUp();
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const reads = gates.map(({ promise }, index) =>
    catchUp(() => {
      begun.push(index);
      return promise;
    }),
  );
  const settled = Promise.allSettled(reads);
  await new Promise(setImmediate);
  assert.deepEqual(begun, [0, 1]);
  gates[1]?.reject(new Error('no luck'));
  await new Promise(setImmediate);
  assert.deepEqual(begun, [0, 1, 2]);
  for (const [index, { resolve }] of gates.entries()) resolve(index);
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  // Nothing is left behind: two may read again.
  await Promise.all([catchUp(() => Promise.resolve()), catchUp(() => Promise.resolve())]);
});
