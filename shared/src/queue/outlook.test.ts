import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateWaitSeconds, queuePosition } from './outlook.ts';
import { placementClass, poolOfClass } from './placement-class.ts';
import { queueDelaySeconds, usualPriority } from './priority.ts';

test('a position counts of other projects what their turns take meanwhile', () => {
  const lanes = [
    { name: 'big', waiting: 10_000, weight: 1 },
    { name: 'small', waiting: 3, weight: 1 },
    { name: 'rich', waiting: 50, weight: 4 },
  ];
  assert.equal(queuePosition(1, 'small', lanes), 1 + 1 + 4);
  assert.equal(queuePosition(3, 'small', lanes), 3 + 3 + 12);
  assert.equal(queuePosition(10_000, 'big', lanes), 10_000 + 3 + 50);
  assert.equal(queuePosition(8, 'rich', lanes), 8 + 2 + 2);
});

test('an estimate is made of what was seen, or not at all', () => {
  assert.equal(estimateWaitSeconds(10, 0.5), 20);
  assert.equal(estimateWaitSeconds(10, 0), null);
  assert.equal(estimateWaitSeconds(0, 0), 0);
});

test('a class names pool and needs in one order', () => {
  assert.equal(placementClass({ pool: 'default', runtime: 'native' }), 'default');
  const gpu = placementClass({ pool: 'big', runtime: 'codex', architecture: 'arm64', labels: ['gpu', 'eu'] });
  assert.equal(gpu, 'big;arch=arm64;label=eu;label=gpu;runtime=codex');
  assert.equal(poolOfClass(gpu), 'big');
});

test('who waits in person comes first, and the others in half an hour at the latest', () => {
  assert.equal(usualPriority(true, 'terminal'), 'high');
  assert.equal(usualPriority(false, 'api'), 'normal');
  assert.equal(usualPriority(false, 'trigger'), 'low');
  assert.equal(queueDelaySeconds('low') - queueDelaySeconds('high'), 1_800);
});
