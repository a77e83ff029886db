import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { selectFiles } from './patch-files.ts';

const names = [
  'plain.txt',
  'with space b/x.txt'.replace('/', '_'),
  'é.txt',
  'tab\tname',
  '-x',
  'back\\slash',
  'quo"te',
];

test('git itself agrees about every part of a patch with unusual names, a rename, a mode, a link and a binary file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'patch-files-'));
  try {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
        cwd: folder,
      });
    git('init', '-q');
    for (const name of [...names, 'old.txt', 'kind', 'mode.sh', 'binary'])
      writeFileSync(join(folder, name), `${name}\n`.repeat(20));
    git('add', '-A');
    git('commit', '-qm', 'first');
    for (const name of names)
      writeFileSync(join(folder, name), `${name} changed\ndiff --git a/mode.sh b/mode.sh\n`);
    renameSync(join(folder, 'old.txt'), join(folder, 'new.txt'));
    chmodSync(join(folder, 'mode.sh'), 0o755);
    unlinkSync(join(folder, 'kind'));
    symlinkSync('/etc/passwd', join(folder, 'kind'));
    writeFileSync(join(folder, 'binary'), Buffer.from([0, 1, 2, 10, 255]));
    git('add', '-A');
    const options = [
      'diff',
      '--cached',
      '--binary',
      '--full-index',
      '-M',
      '--src-prefix=a/',
      '--dst-prefix=b/',
    ];
    const patch = git(...options);
    for (const name of [...names, 'new.txt', 'mode.sh', 'kind', 'binary']) {
      const own = selectFiles(patch, new Set([name]));
      const expected = git(...options, '--', ...(name === 'new.txt' ? ['old.txt', name] : [name]));
      assert.equal(Buffer.from(own).toString(), expected.toString(), name);
      assert.ok(own.length > 0, name);
    }
    const all = selectFiles(patch, new Set([...names, 'new.txt', 'mode.sh', 'kind', 'binary']));
    assert.deepEqual(Buffer.from(all), patch);
    assert.equal(selectFiles(patch, new Set()).length, 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a header that cannot be read is an error', () => {
  const bytes = new TextEncoder().encode('diff --git a/x c/y\n--- a/x\n');
  assert.throws(() => selectFiles(bytes, new Set(['x'])), /cannot be read/);
});
