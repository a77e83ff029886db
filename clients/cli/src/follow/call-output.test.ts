import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallOutput } from './call-output.ts';

test('pieces that begin and end within a line become whole lines', () => {
  const output = createCallOutput(Infinity);
  assert.deepEqual(output.take('c1', 'one\ntw'), ['one']);
  assert.deepEqual(output.take('c2', 'other\n'), ['other'], 'calls do not mix');
  assert.deepEqual(output.take('c1', 'o\n\nthree'), ['two', '']);
  assert.deepEqual(output.end('c1'), { lines: ['three'], folded: 0 });
  assert.deepEqual(output.end('c1'), { lines: [], folded: 0 });
  assert.deepEqual(output.end('c2'), { lines: [], folded: 0 });
  output.take('c3', 'cut o');
  assert.deepEqual(output.flush(), ['cut o'], 'nobody will say its end');
  assert.deepEqual(output.take('c3', 'ff\n'), ['ff']);
});

test('what is folded is counted, the last line without an end too', () => {
  const output = createCallOutput(2);
  assert.deepEqual(output.take('c', '1\n2\n3\n'), ['1', '2']);
  assert.deepEqual(output.take('c', '4\n5'), []);
  assert.deepEqual(output.end('c'), { lines: [], folded: 3 });
});

test('a line without an end is not held for ever, and no character acts on the terminal', () => {
  const output = createCallOutput(Infinity);
  const long = 'x'.repeat(9_000);
  assert.deepEqual(output.take('c', long), [long]);
  assert.deepEqual(output.end('c'), { lines: [], folded: 0 });
  output.take('c', '\u001b]0;');
  assert.deepEqual(output.take('c', 'title\u0007\n'), ['\\x1b]0;title\\x07']);
});
