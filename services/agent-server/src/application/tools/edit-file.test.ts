import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaceText } from './edit-file.ts';

const edit = (content: string, old_text: string, new_text: string, replace_all?: boolean) =>
  replaceText(content, {
    path: 'f',
    old_text,
    new_text,
    ...(replace_all === undefined ? {} : { replace_all }),
  });

test('a place must be named exactly once', () => {
  assert.deepEqual(edit('abc', 'b', 'x'), { ok: true, text: 'axc', count: 1 });
  assert.equal(edit('abcb', 'b', 'x').ok, false);
  assert.deepEqual(edit('abcb', 'b', 'x', true), { ok: true, text: 'axcx', count: 2 });
  assert.equal(edit('abc', 'z', 'x').ok, false);
  assert.equal(edit('abc', 'b', 'b').ok, false);
});

test('replacement text is text, not a pattern', () => {
  assert.deepEqual(edit('abc', 'b', "$& $1 $` $'"), { ok: true, text: "a$& $1 $` $'c", count: 1 });
});

test('line feeds of the model stand for the file’s own line ends', () => {
  assert.deepEqual(edit('a\r\nb\r\n', 'a\nb', 'c\nd'), { ok: true, text: 'c\r\nd\r\n', count: 1 });
  assert.deepEqual(edit('a\r\nb\r\n', 'b', 'c\nd'), { ok: true, text: 'a\r\nc\r\nd\r\n', count: 1 });
  assert.deepEqual(edit('a\nb\n', 'a\nb', 'c\nd'), { ok: true, text: 'c\nd\n', count: 1 });
});
