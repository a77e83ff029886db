import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostTries, nextWait } from './backoff.ts';

const none = () => 0;

test('waits grow to a day and end', () => {
  const waits = Array.from({ length: mostTries }, (_, index) => nextWait(index + 1, undefined, none));
  assert.deepEqual(waits.slice(0, 3), [5, 300, 1_800]);
  assert.equal(waits.at(-2), 86_400);
  assert.equal(waits.at(-1), null);
});

test('a receiver that asks for time gets it, within a bound, and no two come at once', () => {
  assert.equal(nextWait(1, 60, none), 60);
  assert.equal(nextWait(2, 60, none), 300);
  assert.equal(nextWait(1, 1e9, none), 86_400);
  assert.equal(
    nextWait(1, undefined, () => 0.5),
    5.25,
  );
});
