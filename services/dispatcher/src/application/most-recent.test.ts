import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMostRecent } from './most-recent.ts';

test('the oldest goes first, and keeping again makes something young', () => {
  const recent = createMostRecent<number>(2);
  recent.keep('a', 1);
  recent.keep('b', 2);
  recent.keep('a', 3);
  recent.keep('c', 4);
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => recent.get(name)),
    [3, undefined, 4],
  );
});
