import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createSpareCopies, removeSpareDrafts } from './spare-copies.ts';

interface Site {
  readonly root: string;
  readonly tree: string;
  folder(): string;
}

function site(t: TestContext): Site {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-spare-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const tree = join(root, 'mirror', 'checkout-1', 'tree');
  mkdirSync(join(tree, 'dir'), { recursive: true });
  writeFileSync(join(tree, 'dir', '-x'), 'text', { mode: 0o640 });
  symlinkSync('/etc/passwd', join(tree, 'link'));
  let count = 0;
  return {
    root,
    tree,
    folder() {
      count += 1;
      const folder = join(root, `workspace-${count}`);
      mkdirSync(folder);
      return folder;
    },
  };
}

const failure = (error: unknown): void => assert.fail(String(error));

const bounds = { signal: AbortSignal.timeout(30_000), timeoutMs: 30_000 };

function checkCopy(folder: string): void {
  assert.deepEqual(readdirSync(folder).sort(), ['dir', 'link']);
  assert.equal(readFileSync(join(folder, 'dir', '-x'), 'utf8'), 'text');
  assert.equal(lstatSync(join(folder, 'dir', '-x')).mode & 0o777, 0o640);
  assert.ok(lstatSync(join(folder, 'link')).isSymbolicLink());
}

test('the prepared copy is moved in, and the checkout itself stays', async (t) => {
  const { tree, folder } = site(t);
  const spares = createSpareCopies(failure);
  await spares.prepare(tree);
  const inode = lstatSync(join(`${tree}.spare`, 'dir', '-x')).ino;
  const first = folder();
  await spares.lay(tree, first, bounds);
  checkCopy(first);
  assert.equal(lstatSync(join(first, 'dir', '-x')).ino, inode, 'moved, not copied');
  writeFileSync(join(first, 'dir', '-x'), 'changed by a session');
  const second = folder();
  await spares.lay(tree, second, bounds);
  checkCopy(second);
  assert.equal(existsSync(`${tree}.spare`), false);
});

test('many sessions at once: one gets the spare, the others copy, none shares a file', async (t) => {
  const { tree, folder } = site(t);
  const spares = createSpareCopies(failure);
  await spares.prepare(tree);
  const folders = Array.from({ length: 8 }, folder);
  await Promise.all(folders.map((each) => spares.lay(tree, each, bounds)));
  folders.forEach(checkCopy);
  const inodes = folders.map((each) => lstatSync(join(each, 'dir', '-x')).ino);
  assert.equal(new Set(inodes).size, 8);
});

test('preparing twice, and at once, leaves one spare and no draft', async (t) => {
  const { tree } = site(t);
  const one = createSpareCopies(failure);
  const other = createSpareCopies(failure);
  await Promise.all([one.prepare(tree), one.prepare(tree), other.prepare(tree)]);
  await one.prepare(tree);
  assert.deepEqual(readdirSync(join(tree, '..')).sort(), ['tree', 'tree.spare']);
});

test('a close gives up the copy under way and leaves no draft', async (t) => {
  const { tree } = site(t);
  const spares = createSpareCopies(failure);
  const underWay = spares.prepare(tree);
  await spares.close();
  await underWay;
  assert.equal(readdirSync(join(tree, '..')).filter((name) => name.includes('draft')).length, 0);
});

test('drafts of a process that died are removed', async (t) => {
  const { root, tree } = site(t);
  mkdirSync(`${tree}.spare-draft-0`);
  await removeSpareDrafts(root);
  assert.deepEqual(readdirSync(join(tree, '..')), ['tree']);
});
