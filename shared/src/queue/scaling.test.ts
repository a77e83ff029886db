import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adviseScaling } from './scaling.ts';

const server = (id: string, held: number, more: { usable?: number; drained?: boolean } = {}) => ({
  id,
  usable: 10,
  held,
  drained: false,
  ...more,
});

test('what waits asks for slots, in servers of the size that there are', () => {
  const advice = adviseScaling([server('a', 10), server('b', 10)], 20);
  assert.deepEqual(advice, { wantedSlots: 46, wantedServers: 5, action: 'out', drain: [] });
});

test('a pool that is half empty gives the emptiest back, and keeps room', () => {
  const advice = adviseScaling([server('a', 4), server('b', 0), server('c', 1), server('d', 9)], 0);
  assert.deepEqual(advice, { wantedSlots: 17, wantedServers: 2, action: 'in', drain: ['b', 'c'] });
});

test('nothing moves in between, while something waits, or when it is the last one', () => {
  assert.equal(adviseScaling([server('a', 7), server('b', 7)], 0).action, 'stay');
  assert.deepEqual(adviseScaling([server('a', 0)], 0).drain, []);
  assert.equal(adviseScaling([server('a', 1), server('b', 0)], 3).action, 'stay');
});

test('a drained server and one that is out of the rotation are no capacity', () => {
  const advice = adviseScaling(
    [server('a', 9), server('b', 0, { usable: 0 }), server('c', 5, { drained: true })],
    0,
  );
  assert.deepEqual([advice.wantedSlots, advice.action], [11, 'out']);
});
