import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DiffFile } from './diff.ts';
import { flaggedFiles, touchedPaths, unnamedFlaggedFiles, unselectedPaths } from './diff-selection.ts';

const file = (path: string, more: Partial<DiffFile> = {}): DiffFile => ({
  path,
  change: 'modified',
  insertions: 1,
  deletions: 0,
  flags: [],
  ...more,
});
const files = [
  file('src/a.ts'),
  file('package.json', { flags: ['dependencies'] }),
  file('ci/new.yml', { change: 'renamed', previousPath: '.github/workflows/ci.yml', flags: ['ci'] }),
];

test('a flagged file must be named where it is accepted, and only there', () => {
  assert.deepEqual(unnamedFlaggedFiles(files, null, ['package.json']), ['ci/new.yml']);
  assert.deepEqual(unnamedFlaggedFiles(files, ['src/a.ts'], []), []);
  assert.deepEqual(unnamedFlaggedFiles(files, null, ['package.json', 'ci/new.yml']), []);
  assert.deepEqual(flaggedFiles(files, ['package.json']), ['package.json']);
});

test('a renamed file counts under both names; what is not accepted is rejected', () => {
  assert.deepEqual(touchedPaths(files, ['ci/new.yml']), ['ci/new.yml', '.github/workflows/ci.yml']);
  assert.deepEqual(unselectedPaths(files, ['src/a.ts']), ['package.json', 'ci/new.yml']);
  assert.deepEqual(unselectedPaths(files, null), []);
});
