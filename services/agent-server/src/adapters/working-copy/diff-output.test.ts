import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { createDiffSplitter } from './diff-output.ts';

const split = async (text: string, size: number) => {
  const all = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.subarray(at * size, (at + 1) * size),
  );
  const splitter = createDiffSplitter();
  const patch = await buffer(Readable.from(chunks).pipe(splitter.stream));
  return { patch: patch.toString('utf8'), ...splitter.result() };
};

test('list and patch are told apart wherever the chunks are cut', async () => {
  for (const size of [1, 2, 3, 5, 7, 100]) {
    const { patch, changes, sha256, bytes } = await split('6\na\0b\n\0cdiff --git\nend\n', size);
    assert.equal(changes.toString('utf8'), 'a\0b\n\0c');
    assert.equal(patch, 'diff --git\nend\n');
    assert.equal(bytes, patch.length);
    assert.equal(sha256, createHash('sha256').update(patch).digest('hex'));
  }
});

test('no change is an empty list and an empty patch', async () => {
  const { patch, changes } = await split('0\n', 1);
  assert.equal(patch, '');
  assert.equal(changes.length, 0);
});

test('output that is cut, or of another shape, is no diff', async () => {
  const cut = createDiffSplitter();
  cut.stream.write('9\nabc');
  assert.throws(() => cut.result(), /ended too early/);
  for (const text of ['fatal: not a git repository\n', 'x'.repeat(40), '99999999999\n']) {
    const splitter = createDiffSplitter();
    await assert.rejects(buffer(Readable.from([Buffer.from(text)]).pipe(splitter.stream)));
  }
});
