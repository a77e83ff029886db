import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FolderFile } from './folder.ts';
import { faultOfFolder, folderPathSchema, memoryBounds } from './folder.ts';
import { mergeMemory } from './merge-memory.ts';
import type { MemoryFile } from './merge-memory.ts';

const at = '2026-11-29T00:00:00.000Z';
const file = (path: string, content: string): FolderFile => ({
  path,
  sha256: content.padEnd(64, '0'),
  bytes: 1,
});
const kept = (path: string, content: string, session = 's_old'): MemoryFile => ({
  ...file(path, content),
  session,
  at,
});
const leave = (...files: FolderFile[]) => ({ id: 's_new', at, files });
const shape = (files: readonly MemoryFile[]) =>
  files.map(({ path, sha256, session }) => [path, sha256.replace(/0+$/, ''), session]);

test('who alone changed, added or deleted a file is right, and each file knows who wrote it', () => {
  const base = [file('a', 'a1'), file('b', 'b1'), file('c', 'c1')];
  const current = [kept('a', 'a1'), kept('b', 'b2', 's_other'), kept('c', 'c1'), kept('d', 'd1', 's_other')];
  const merge = mergeMemory(base, current, leave(file('a', 'a2'), file('b', 'b1'), file('e', 'e1')));
  assert.deepEqual(shape(merge.files), [
    ['a', 'a2', 's_new'],
    ['b', 'b2', 's_other'],
    ['d', 'd1', 's_other'],
    ['e', 'e1', 's_new'],
  ]);
  assert.deepEqual([merge.changed, merge.conflicts], [true, []]);
});

test('both changed: both are kept, and it is said', () => {
  const merge = mergeMemory([file('n/a.md', '1')], [kept('n/a.md', '2')], leave(file('n/a.md', '3')));
  assert.deepEqual(shape(merge.files), [
    ['n/a.conflict-s_new.md', '3', 's_new'],
    ['n/a.md', '2', 's_old'],
  ]);
  assert.deepEqual(merge.conflicts, [{ path: 'n/a.md', keptAs: 'n/a.conflict-s_new.md' }]);
  const again = mergeMemory([], merge.files, leave(file('n/a.md', '4')));
  assert.ok(again.files.some(({ path }) => path === 'n/a.conflict-s_new-2.md'));
});

test('the same change twice, and a deletion beside a change, are no conflict', () => {
  const base = [file('a', '1'), file('b', '1'), file('c', '1')];
  const merge = mergeMemory(base, [kept('a', '2'), kept('b', '2')], leave(file('a', '2'), file('c', '2')));
  assert.deepEqual(shape(merge.files), [
    ['a', '2', 's_old'],
    ['b', '2', 's_old'],
    ['c', '2', 's_new'],
  ]);
  assert.deepEqual(merge.conflicts, []);
  assert.equal(mergeMemory(base, [kept('a', '2')], leave(...base)).changed, false);
});

test('names that could not stand beside each other are both kept, under names that can', () => {
  const theirs = [kept('Notes.md', 't1'), kept('plan', 't2'), kept('log/a.md', 't3')];
  const mine = leave(
    file('notes.md', 'm1'),
    file('plan/x.md', 'm2'),
    file('plan/y.md', 'm3'),
    file('log', 'm4'),
  );
  const merge = mergeMemory([], theirs, mine);
  assert.equal(faultOfFolder(merge.files, memoryBounds), null);
  assert.deepEqual(shape(merge.files), [
    ['Notes.md', 't1', 's_old'],
    ['log.conflict-s_new', 'm4', 's_new'],
    ['log/a.md', 't3', 's_old'],
    ['notes.conflict-s_new.md', 'm1', 's_new'],
    ['plan', 't2', 's_old'],
    ['plan.conflict-s_new/x.md', 'm2', 's_new'],
    ['plan.conflict-s_new/y.md', 'm3', 's_new'],
  ]);
  assert.deepEqual(
    merge.conflicts.map(({ path }) => path),
    ['notes.md', 'plan/x.md', 'plan/y.md', 'log'],
  );
  // who renames alone is right
  const renamed = mergeMemory([file('a.md', '1')], [kept('a.md', '1')], leave(file('A.md', '1')));
  assert.deepEqual(shape(renamed.files), [['A.md', '1', 's_new']]);
});

/** Without what could not stand beside what comes before it: what a session leaves was one folder. */
const alone = (files: readonly FolderFile[]): FolderFile[] =>
  files.reduce<FolderFile[]>(
    (before, one) => (faultOfFolder([...before, one], memoryBounds) === null ? [...before, one] : before),
    [],
  );

test('no content that anybody wrote is lost, whatever two sessions do', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed % below;
  };
  for (let turn = 0; turn < 2_000; turn += 1) {
    const paths = ['a', 'b', 'c', 'd/e', 'D/e', 'B', 'c/f'];
    const pick = (tag: string) =>
      paths.flatMap((path) =>
        random(3) === 0 ? [] : [file(path, `${path}${random(2) === 0 ? 'x' : `${tag}${turn}`}`)],
      );
    const [base = [], theirs = [], mine = []] = ['b', 't', 'm'].map((tag) => alone(pick(tag)));
    const merge = mergeMemory(
      base,
      theirs.map((one) => ({ ...one, session: null, at })),
      leave(...mine),
    );
    const has = new Set(merge.files.map(({ sha256 }) => sha256));
    const old = new Set(base.map(({ path, sha256 }) => path + sha256));
    for (const one of [...theirs, ...mine])
      if (!old.has(one.path + one.sha256))
        assert.ok(has.has(one.sha256), `turn ${turn}: ${one.path} is lost`);
    assert.equal(faultOfFolder(merge.files, memoryBounds), null, JSON.stringify(merge.files));
  }
});

test('paths that climb, hide or clash are refused', () => {
  for (const path of [
    '../a',
    'a/../b',
    '/a',
    'a//b',
    './a',
    'a/',
    '',
    'a\nb',
    'a\u202eb',
    'a\\b',
    'x'.repeat(300),
  ])
    assert.equal(folderPathSchema.safeParse(path).success, false, path);
  assert.equal(folderPathSchema.safeParse('notes/ünïcode (1).md').success, true);
  assert.match(faultOfFolder([file('A', '1'), file('a', '2')], memoryBounds) ?? '', /one name/);
  assert.match(faultOfFolder([file('a', '1'), file('a/b', '2')], memoryBounds) ?? '', /below a file/);
  assert.match(faultOfFolder([{ ...file('a', '1'), bytes: 2 ** 30 }], memoryBounds) ?? '', /at most/);
  assert.equal(faultOfFolder([file('a/c', '1'), file('a/b', '2')], memoryBounds), null);
});
