import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAtMost } from './each-at-most.ts';

test('one that takes long holds up nobody but itself, and no more than allowed are under way', async () => {
  const slow = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  const done: number[] = [];
  let under = 0;
  let most = 0;
  const all = eachAtMost(2, [0, 1, 2, 3, 4], async (item) => {
    under += 1;
    most = Math.max(most, under);
    await (item === 0 ? slow.promise : Promise.resolve());
    under -= 1;
    done.push(item);
    if (done.length === 4) rest.resolve();
  });
  await rest.promise;
  assert.deepEqual(done, [1, 2, 3, 4]);
  slow.resolve();
  await all;
  assert.deepEqual([most, done.at(-1)], [2, 0]);
});

test('behind an error nothing begins, and it is told when what was under way is done', async () => {
  const begun: number[] = [];
  await assert.rejects(
    eachAtMost(1, [1, 2, 3], (item) => {
      begun.push(item);
      return item === 2 ? Promise.reject(new Error('broken')) : Promise.resolve();
    }),
    /broken/,
  );
  assert.deepEqual(begun, [1, 2]);
});
