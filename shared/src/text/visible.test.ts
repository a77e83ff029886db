import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeVisible, makeVisibleLine, visibleJson } from './visible.ts';

const hostile = 'a\u001b[2J\u009bm\u202eb\u{e0041}\n\t日本語';

test('what acts on a terminal, reorders or hides text is shown as what it is', () => {
  assert.equal(makeVisible(hostile), 'a\\x1b[2J\\x9bm\\u{202e}b\\u{e0041}\n\t日本語');
  assert.equal(makeVisibleLine(hostile), 'a\\x1b[2J\\x9bm\\u{202e}b\\u{e0041}\\n\\t日本語');
});

test('JSON is safe to show and means the same', () => {
  const json = visibleJson({ [hostile]: [hostile] });
  assert.doesNotMatch(json, /[\u0000-\u001f\u007f-\u009f\u202e\u{e0041}]/u);
  assert.match(json, /日本語/);
  assert.deepEqual(JSON.parse(json), { [hostile]: [hostile] });
});
