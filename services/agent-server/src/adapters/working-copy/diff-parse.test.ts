import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDiffSummary } from './diff-parse.ts';

const record = (...fields: string[]): Buffer => Buffer.from(fields.map((field) => `${field}\0`).join(''));

test('raw and number records of every change are joined by path', () => {
  const output = record(
    ':100644 100644 a b M',
    'src/é.js',
    ':000000 100644 0 b A',
    '-x',
    ':100644 000000 a 0 D',
    'line\nbreak',
    ':100644 100644 a b R087',
    'old.js',
    'new.js',
    ':100644 120000 a b T',
    'link',
    '1\t2\tsrc/é.js',
    '-\t-\t-x',
    '0\t7\tline\nbreak',
    '3\t1\t',
    'old.js',
    'new.js',
    '1\t1\tlink',
  );
  assert.deepEqual(parseDiffSummary(output), [
    { path: 'src/é.js', change: 'modified', insertions: 1, deletions: 2, flags: [] },
    {
      path: '-x',
      change: 'added',
      modes: { before: '000000', after: '100644' },
      insertions: null,
      deletions: null,
      flags: [],
    },
    {
      path: 'line\nbreak',
      change: 'deleted',
      modes: { before: '100644', after: '000000' },
      insertions: 0,
      deletions: 7,
      flags: [],
    },
    { path: 'new.js', previousPath: 'old.js', change: 'renamed', insertions: 3, deletions: 1, flags: [] },
    {
      path: 'link',
      change: 'type_changed',
      modes: { before: '100644', after: '120000' },
      insertions: 1,
      deletions: 1,
      flags: [],
    },
  ]);
});

test('no change is an empty list', () => {
  assert.deepEqual(parseDiffSummary(Buffer.alloc(0)), []);
});

test('a cut or unknown record is an error, never a shorter list', () => {
  assert.throws(() => parseDiffSummary(record(':100644 100644 a b M').subarray(0, -1)), /middle of a record/);
  assert.throws(() => parseDiffSummary(record(':100644 100644 a b X', 'f')), /do not know/);
  assert.throws(() => parseDiffSummary(record('nonsense')), /cannot read/);
});
