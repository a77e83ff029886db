import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatchUp } from './catch-up.ts';

test('who catches up takes turns in order, a turn rests half its time, and one that fails hands its turn on', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const catchUp = createCatchUp({ monotonicMs: () => now });
  const begun: number[] = [];
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  const settled = Promise.allSettled(
    gates.map(({ promise }, index) =>
      catchUp(() => {
        begun.push(index);
        return promise;
      }),
    ),
  );
  const turns = () => new Promise(setImmediate);
  await turns();
  assert.deepEqual(begun, [0]);
  now = 10;
  gates[0]?.reject(new Error('no luck'));
  await turns();
  t.mock.timers.tick(4);
  await turns();
  assert.deepEqual(begun, [0]);
  t.mock.timers.tick(1);
  await turns();
  assert.deepEqual(begun, [0, 1]);
  for (const [index, { resolve }] of gates.entries()) resolve(index);
  for (let hands = 0; hands < 4; hands += 1) {
    await turns();
    t.mock.timers.tick(0);
  }
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(begun, [0, 1, 2, 3]);
  // The last turn was given back: somebody new does not wait.
  assert.equal(await catchUp(() => Promise.resolve('now')), 'now');
});
