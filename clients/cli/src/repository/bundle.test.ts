import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { bundledLargeFilesRef, lfsPointerText } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { withBundle } from './bundle.ts';
import type { Bundle } from './bundle.ts';
import { inspectRepository } from './inspect.ts';
import { testRepository } from './testing.ts';

// Uncommitted states are kept in the cache: not in that of whoever runs the tests.
const cache = mkdtempSync(join(tmpdir(), 'lemniscate-cache-'));
process.env['XDG_CACHE_HOME'] = cache;
after(() => rmSync(cache, { recursive: true, force: true }));

/** Unpacks a bundle elsewhere and checks its commit out. */
async function unpack(
  t: TestContext,
  folder: string,
): Promise<{ bundle: Bundle; clone: string; log: string }> {
  const clone = mkdtempSync(join(tmpdir(), 'lemniscate-clone-'));
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  const bundle = await withBundle(await inspectRepository(folder), async (made) => {
    copyFileSync(made.file, join(clone, 'b'));
    return made;
  });
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', clone, ...args], { encoding: 'utf8', stdio: 'pipe' });
  git('init', '-q');
  git('fetch', '-q', join(clone, 'b'), 'refs/lemniscate/upload:refs/heads/x');
  rmSync(join(clone, 'b'));
  git('checkout', '-q', '-f', bundle.commit);
  return { bundle, clone, log: git('log', '--format=%s', bundle.commit) };
}

test('a clean repository travels with its history and its own commit', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', 'one\n');
  repository.commit('first');
  repository.write('a.txt', 'two\n');
  const head = repository.commit('second');
  const { bundle, clone, log } = await unpack(t, repository.folder);
  assert.equal(bundle.commit, head);
  assert.equal(bundle.dirty, false);
  assert.equal(log.trim(), 'second\nfirst');
  assert.equal(readFileSync(join(clone, 'a.txt'), 'utf8'), 'two\n');
});

test('staged, unstaged and new files travel; ignored ones do not; the repository stays as it was', async (t) => {
  const repository = testRepository(t);
  repository.write('staged.txt', 'old\n');
  repository.write('unstaged.txt', 'old\n');
  repository.write('.gitignore', 'secret\n');
  repository.commit('first');
  repository.write('staged.txt', 'staged\n');
  repository.git('add', 'staged.txt');
  repository.write('unstaged.txt', 'changed\n');
  repository.write('-x', 'dash\n');
  repository.write('dir/é ü.txt', 'accents\n');
  repository.write('secret', 'no\n');
  const before = repository.git('status', '--porcelain');
  const objects = repository.git('count-objects');
  const { bundle, clone, log } = await unpack(t, repository.folder);
  assert.equal(bundle.dirty, true);
  assert.equal(log.trim(), 'Uncommitted changes\nfirst');
  assert.equal(readFileSync(join(clone, 'staged.txt'), 'utf8'), 'staged\n');
  assert.equal(readFileSync(join(clone, 'unstaged.txt'), 'utf8'), 'changed\n');
  assert.equal(readFileSync(join(clone, '-x'), 'utf8'), 'dash\n');
  assert.equal(readFileSync(join(clone, 'dir/é ü.txt'), 'utf8'), 'accents\n');
  assert.equal(existsSync(join(clone, 'secret')), false);
  assert.equal(repository.git('status', '--porcelain'), before);
  assert.equal(repository.git('count-objects'), objects);
});

test('an edit of the same size right after the commit is seen', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const repository = testRepository(t);
    repository.write('a.txt', 'one\n');
    repository.commit('first');
    repository.write('a.txt', 'two\n');
    const { bundle } = await unpack(t, repository.folder);
    assert.equal(bundle.dirty, true, `round ${round}`);
  }
});

test('the same files make the same bundle', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', 'one\n');
  repository.commit('first');
  repository.write('a.txt', 'two\n');
  const one = await unpack(t, repository.folder);
  const other = await unpack(t, repository.folder);
  assert.equal(one.bundle.sha256, other.bundle.sha256);
});

test('a shallow clone travels as a snapshot', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', 'one\n');
  repository.commit('first');
  repository.write('a.txt', 'two\n');
  repository.commit('second');
  const shallow = mkdtempSync(join(tmpdir(), 'lemniscate-shallow-'));
  t.after(() => rmSync(shallow, { recursive: true, force: true }));
  execFileSync('git', ['clone', '-q', '--depth=1', `file://${repository.folder}`, shallow]);
  const { clone, log } = await unpack(t, shallow);
  assert.equal(log.trim(), 'Snapshot');
  assert.equal(readFileSync(join(clone, 'a.txt'), 'utf8'), 'two\n');
});

test('files before the first commit travel as a snapshot', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', 'one\n');
  const { bundle, clone } = await unpack(t, repository.folder);
  assert.equal(bundle.dirty, true);
  assert.equal(readFileSync(join(clone, 'a.txt'), 'utf8'), 'one\n');
});

test('what cannot be a session’s repository is named with its code', async (t) => {
  const repository = testRepository(t);
  await assert.rejects(inspectRepository(repository.folder), { code: 'repository_empty' });
  await assert.rejects(inspectRepository(join(repository.folder, 'nowhere')), { code: 'repository_missing' });
  await assert.rejects(inspectRepository(join(repository.folder, '.git')), { code: 'repository_bare' });
  const plain = mkdtempSync(join(tmpdir(), 'lemniscate-plain-'));
  t.after(() => rmSync(plain, { recursive: true, force: true }));
  await assert.rejects(inspectRepository(plain), { code: 'repository_missing' });
  execFileSync('git', ['init', '-q', '--bare', join(plain, 'bare')]);
  await assert.rejects(inspectRepository(join(plain, 'bare')), { code: 'repository_bare' });
});

/** A repository with pointers, of which git-lfs has one object on this machine; both written without git-lfs. */
function repositoryOfPointers(t: TestContext, storage = '.git/lfs') {
  const repository = testRepository(t);
  const contents = 'weights\n'.repeat(10_000);
  const oid = createHash('sha256').update(contents).digest('hex');
  const pointer = { oid, size: contents.length };
  repository.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
  repository.write('here.bin', lfsPointerText(pointer));
  repository.write('again\n here.bin', lfsPointerText(pointer));
  repository.write('gone.bin', lfsPointerText({ oid: 'e'.repeat(64), size: 5 }));
  repository.write('large.bin', 'no pointer\n'.repeat(1_000));
  repository.write(`${storage}/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`, contents);
  return { repository, contents, oid };
}

const largeFilesIn = async (folder: string) =>
  withBundle(
    await inspectRepository(folder),
    async ({ file, sha256 }) => {
      const to = mkdtempSync(join(tmpdir(), 'lemniscate-clone-'));
      try {
        const git = (...args: string[]) =>
          execFileSync('git', ['-C', to, ...args], { encoding: 'utf8', stdio: 'pipe' });
        git('init', '-q');
        git('fetch', '-q', file, '+refs/*:refs/*');
        const has = git('for-each-ref', '--format=%(refname)').includes(bundledLargeFilesRef);
        const names = has ? git('ls-tree', '--name-only', bundledLargeFilesRef).trim().split('\n') : [];
        const read = (name: string): string => git('cat-file', 'blob', `${bundledLargeFilesRef}:${name}`);
        return { sha256, objects: new Map(names.map((name) => [name, read(name)])) };
      } finally {
        rmSync(to, { recursive: true, force: true });
      }
    },
    { largeFiles: true },
  );

test('where they are asked for, the large files that are on this machine come along, and make the same bundle again', async (t) => {
  const { repository, contents, oid } = repositoryOfPointers(t);
  repository.commit('first');
  const { objects, sha256 } = await largeFilesIn(repository.folder);
  assert.deepEqual(objects, new Map([[oid, contents]]));
  assert.equal((await largeFilesIn(repository.folder)).sha256, sha256);
  const without = await unpack(t, repository.folder);
  assert.notEqual(without.bundle.sha256, sha256, 'where nobody asks none come along');
});

test('large files of uncommitted pointers come along too, from wherever git-lfs keeps them', async (t) => {
  const { repository, oid } = repositoryOfPointers(t, '.git/elsewhere');
  repository.git('config', 'lfs.storage', 'elsewhere');
  repository.write('other.txt', 'x\n');
  const { objects } = await largeFilesIn(repository.folder);
  assert.deepEqual([...objects.keys()], [oid]);
});

test('a repository without large files, or with none of them here, is sent as ever', async (t) => {
  const { repository } = repositoryOfPointers(t);
  rmSync(join(repository.folder, '.git/lfs'), { recursive: true });
  repository.commit('first');
  const { bundle } = await unpack(t, repository.folder);
  const asked = await largeFilesIn(repository.folder);
  assert.deepEqual([asked.objects.size, asked.sha256], [0, bundle.sha256]);
});
