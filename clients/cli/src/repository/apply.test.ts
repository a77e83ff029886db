import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { applyPatch } from './apply.ts';
import { withBundle } from './bundle.ts';
import { inspectRepository } from './inspect.ts';
import { testRepository } from './testing.ts';
import type { TestRepository } from './testing.ts';

const text = (...lines: string[]) => lines.map((line) => `${line}\n`).join('');
const body = Array.from({ length: 30 }, (_, index) => `line ${index}`);

/** A patch that a session would offer, made against the repository's HEAD; the files are put back afterwards. */
function patchOf(repository: TestRepository, change: () => void): { patch: Buffer; baseTree: string } {
  const baseTree = repository.git('rev-parse', 'HEAD^{tree}');
  change();
  repository.git('add', '-A');
  const patch = execFileSync('git', ['diff', '--cached', '--binary', '--full-index', '-M', 'HEAD'], {
    cwd: repository.folder,
  });
  repository.git('reset', '-q', '--hard');
  return { patch, baseTree };
}

const read = (repository: TestRepository, path: string) =>
  readFileSync(join(repository.folder, path), 'utf8');

test('the patch reaches the files and nothing else: no commit, no index change', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', text(...body));
  const head = repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () => {
    repository.write('a.txt', text('changed', ...body.slice(1)));
    repository.write('new/ é.txt', 'new\n');
    repository.write('binary', '\0\u0001\0');
  });
  const applied = await applyPatch(repository.folder, patch, baseTree);
  assert.deepEqual([...applied.files].sort(), ['a.txt', 'binary', 'new/ é.txt']);
  assert.equal(read(repository, 'a.txt'), text('changed', ...body.slice(1)));
  assert.equal(repository.git('rev-parse', 'HEAD'), head);
  assert.equal(repository.git('diff', '--cached', '--name-only'), '');
});

test('edits made meanwhile elsewhere in the same file are kept', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', text(...body));
  repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () =>
    repository.write('a.txt', text('theirs', ...body.slice(1))),
  );
  repository.write('a.txt', text('above', ...body.slice(0, 29), 'mine'));
  // The line above shifts the hunk, so that a plain apply by line number would not do.
  await applyPatch(repository.folder, patch, baseTree).then(
    () => assert.fail('the first line was changed on both sides'),
    (error: { code?: string }) => assert.equal(error.code, 'diff_conflict'),
  );
  repository.write('a.txt', text(...body.slice(0, 29), 'mine'));
  await applyPatch(repository.folder, patch, baseTree);
  assert.equal(read(repository, 'a.txt'), text('theirs', ...body.slice(1, 29), 'mine'));
});

test('edits made meanwhile are merged although the session began with uncommitted changes', async (t) => {
  const repository = testRepository(t);
  const cache = process.env['XDG_CACHE_HOME'];
  process.env['XDG_CACHE_HOME'] = join(repository.folder, '.git', 'cache of a test');
  t.after(() => {
    if (cache === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = cache;
  });
  repository.write('a.txt', text('one', 'two', 'three'));
  repository.commit('first');
  repository.write('a.txt', text('one', 'two', 'three', 'uncommitted'));
  // The fleet makes the diff in a clone, which has objects that the repository itself never gets.
  const clone = testRepository(t);
  const commit = await withBundle(await inspectRepository(repository.folder), (bundle) => {
    clone.git('fetch', '-q', bundle.file, 'refs/lemniscate/upload');
    return Promise.resolve(bundle.commit);
  });
  clone.git('checkout', '-q', commit);
  const { patch, baseTree } = patchOf(clone, () =>
    clone.write('a.txt', text('one', 'two', 'THREE', 'uncommitted')),
  );
  repository.write('a.txt', text('above', 'one', 'two', 'three', 'uncommitted'));
  await applyPatch(repository.folder, patch, baseTree);
  assert.equal(read(repository, 'a.txt'), text('above', 'one', 'two', 'THREE', 'uncommitted'));
});

test('a conflict names the file and touches nothing, not even the files that would have applied', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', text(...body));
  repository.write('b.txt', text(...body));
  repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () => {
    repository.write('a.txt', text('theirs', ...body.slice(1)));
    repository.write('b.txt', text('theirs', ...body.slice(1)));
  });
  repository.write('a.txt', text('mine', ...body.slice(1)));
  await assert.rejects(applyPatch(repository.folder, patch, baseTree), (error: Error & { code: string }) => {
    assert.equal(error.code, 'diff_conflict');
    assert.match(error.message, /: a\.txt \(line 1\) changed since/);
    return true;
  });
  assert.equal(read(repository, 'a.txt'), text('mine', ...body.slice(1)));
  assert.equal(read(repository, 'b.txt'), text(...body));
});

test('a base that was never committed here still applies where its lines are found', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', text(...body));
  repository.commit('first');
  const { patch } = patchOf(repository, () => repository.write('a.txt', text('theirs', ...body.slice(1))));
  repository.write('other.txt', 'uncommitted\n');
  await applyPatch(repository.folder, patch, '0123456789012345678901234567890123456789');
  assert.equal(read(repository, 'a.txt'), text('theirs', ...body.slice(1)));
});

test('deletions, renames and modes are applied', async (t) => {
  const repository = testRepository(t);
  repository.write('gone.txt', 'bye\n');
  repository.write('old.txt', text(...body));
  repository.write('run.sh', '#!/bin/sh\n');
  repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () => {
    repository.git('rm', '-q', 'gone.txt');
    repository.git('mv', 'old.txt', 'new.txt');
    execFileSync('chmod', ['+x', join(repository.folder, 'run.sh')]);
  });
  const applied = await applyPatch(repository.folder, patch, baseTree);
  assert.deepEqual([...applied.files].sort(), ['gone.txt', 'new.txt', 'old.txt', 'run.sh']);
  assert.match(repository.git('status', '--porcelain'), /D gone\.txt/);
});

test('what must happen before the files are touched happens only for a clean merge, and can stop it', async (t) => {
  const repository = testRepository(t);
  repository.write('a.txt', text(...body));
  repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () =>
    repository.write('a.txt', text('theirs', ...body.slice(1))),
  );
  let asked = 0;
  const ask = () => {
    asked += 1;
    return Promise.reject(new Error('refused'));
  };
  await assert.rejects(applyPatch(repository.folder, patch, baseTree, ask), /refused/);
  assert.equal(asked, 1);
  assert.equal(read(repository, 'a.txt'), text(...body));
  repository.write('a.txt', text('mine', ...body.slice(1)));
  await assert.rejects(applyPatch(repository.folder, patch, baseTree, ask), { code: 'diff_conflict' });
  assert.equal(asked, 1);
});

test('a conflict says at which lines of the file as it is now', async (t) => {
  const repository = testRepository(t);
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`);
  const changed = (word: string, extra: readonly string[] = []) =>
    text(...extra, ...lines.map((line, index) => (index === 9 || index === 49 ? `${word} ${line}` : line)));
  repository.write('a.txt', text(...lines));
  repository.write('gone.txt', text(...lines));
  repository.commit('first');
  const { patch, baseTree } = patchOf(repository, () => {
    repository.write('a.txt', changed('theirs'));
    repository.write('gone.txt', changed('theirs'));
  });
  // two lines above the places move them down
  repository.write('a.txt', changed('mine', ['one', 'two']));
  rmSync(join(repository.folder, 'gone.txt'));
  await assert.rejects(applyPatch(repository.folder, patch, baseTree), (error: Error) => {
    assert.match(error.message, /: a\.txt \(lines 12, 52\), gone\.txt.* changed since/);
    return true;
  });
});
