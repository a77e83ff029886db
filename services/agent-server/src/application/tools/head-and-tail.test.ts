import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHeadAndTail } from './head-and-tail.ts';

const gather = (length: number, pieces: readonly string[]) => {
  const kept = createHeadAndTail(length);
  for (const piece of pieces) kept.add(piece);
  return kept.toString();
};

test('a short text is whole, however it came', () => {
  assert.equal(gather(4, ['ab', 'cd']), 'abcd');
  assert.equal(gather(4, ['abcdef']), 'abcdef');
  assert.equal(gather(4, ['abcd', 'efgh']), 'abcdefgh');
});

test('a long one keeps its ends and says how much is missing', () => {
  assert.equal(gather(2, ['abcdefg']), 'ab\n…(3 characters left out)…\nfg');
  const pieces = Array.from({ length: 1000 }, (_, index) => `${index},`);
  const text = gather(100, pieces);
  const all = pieces.join('');
  assert.ok(text.startsWith(all.slice(0, 100)) && text.endsWith(all.slice(-100)));
  assert.match(text, new RegExp(`…\\(${all.length - 200} characters left out\\)…`));
});

test('a surrogate pair is not torn', () => {
  assert.ok(gather(3, ['ab😀cd', 'efgh😀x']).isWellFormed());
});
