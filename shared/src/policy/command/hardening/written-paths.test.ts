import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writtenPaths } from './written-paths.ts';

const paths = (command: string) => {
  const words = command.split(' ');
  return writtenPaths({ name: words[0] ?? '', words, raws: words, cwd: '' });
};

test('archives, compressors and mktemp write where their words say', () => {
  for (const [command, path] of [
    ['tar xf x -C .github', '.github'],
    ['tar xf x -C.github', '.github'],
    ['tar xf x --directory=.github', '.github'],
    ['unzip x -d .github', '.github'],
    ['gzip package.json', 'package.json'],
    ['mktemp .git/hooks/x', '.git/hooks/x'],
  ] as const)
    assert.ok(paths(command).includes(path), command);
  assert.deepEqual(paths('tar tf x'), []);
  assert.deepEqual(paths('unzip -l x'), []);
});
