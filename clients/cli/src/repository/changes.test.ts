import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { readChanges } from './changes.ts';
import { testRepository } from './testing.ts';

test('old and new text of what a patch changes, adds and removes; binary files are left out', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', 'one\n');
  repository.write('gone.txt', 'gone\n');
  repository.commit('first');
  const baseTree = repository.git('rev-parse', 'HEAD^{tree}');
  repository.write('a.txt', 'two\n');
  repository.write('new é.txt', 'new\n');
  repository.write('binary', '\0\u0001\0');
  repository.git('rm', '-q', 'gone.txt');
  repository.git('add', '-A');
  const patch = execFileSync('git', ['diff', '--cached', '--binary', '--full-index', 'HEAD'], {
    cwd: repository.folder,
  });
  repository.git('reset', '-q', '--hard');
  assert.deepEqual(await readChanges(repository.folder, patch, baseTree), [
    { path: 'a.txt', before: 'one\n', after: 'two\n' },
    { path: 'gone.txt', before: 'gone\n', after: null },
    { path: 'new é.txt', before: null, after: 'new\n' },
  ]);
  assert.deepEqual(await readChanges(repository.folder, new Uint8Array(), baseTree), []);
  assert.equal(await readChanges(repository.folder, patch, 'f'.repeat(40)), null);
});
