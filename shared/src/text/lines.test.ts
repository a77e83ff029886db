import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readLines } from './lines.ts';

const linesOf = async (chunks: readonly (string | Buffer)[], longest = 1000) =>
  (await Array.fromAsync(readLines(Readable.from(chunks), longest))).map((line) => line.text);

test('only a line feed ends a line: JSON leaves the other separators of Unicode as they are', async () => {
  const line = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d' });
  assert.deepEqual(await linesOf([`${line}\n${line}\n`]), [line, line]);
});

test('chunks may end anywhere, also inside a character', async () => {
  const bytes = Buffer.from('ä\u2028€\nlast');
  const single = Array.from({ length: bytes.length }, (_, at) => bytes.subarray(at, at + 1));
  assert.deepEqual(await linesOf(single), ['ä\u2028€', 'last']);
});

test('a line beyond the bound is told and not held, and the next one is read', async () => {
  assert.deepEqual(await linesOf(['aaaa', 'aaaa', 'aa\nb\n'], 5), [undefined, 'b']);
});
