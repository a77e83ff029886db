import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';

test('a release is made of a clean tag alone: archive, bill of materials, digests', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-release-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  const checkout = join(scratch, 'checkout');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: checkout,
      encoding: 'utf8',
    });
  for (const part of ['infra/release', 'package.json', 'package-lock.json', 'CHANGELOG.md'])
    cpSync(join(projectRoot, part), join(checkout, part), { recursive: true });
  symlinkSync(join(projectRoot, 'node_modules'), join(checkout, 'node_modules'));
  appendFileSync(join(checkout, '.gitignore'), 'node_modules\n.artifacts\n');
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'first');
  const release = (version: string): string =>
    execFileSync(join(checkout, 'infra/release/release.sh'), [version], {
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...process.env, RELEASE_DRY_RUN: '1' },
    });
  assert.throws(() => release('one'), /usage/);
  assert.throws(() => release('9.9.9'), /the tag v9\.9\.9 is not checked out/);
  git('tag', 'v9.9.9');
  assert.throws(() => release('9.9.9'), /CHANGELOG\.md has no heading/);
  appendFileSync(join(checkout, 'CHANGELOG.md'), '\n## 9.9.9\n');
  assert.throws(() => release('9.9.9'), /the checkout has changes/);
  git('commit', '-qam', 'release');
  git('tag', '-f', 'v9.9.9');
  const folder = release('9.9.9').trim();
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8');
  assert.match(sums, /lemniscate-9\.9\.9\.tar\.zst/);
  const bill = JSON.parse(readFileSync(join(folder, 'lemniscate-9.9.9.spdx.json'), 'utf8')) as {
    spdxVersion: string;
    packages: readonly { name: string }[];
  };
  assert.equal(bill.spdxVersion, 'SPDX-2.3');
  assert.ok(bill.packages.some(({ name }) => name === 'fastify'));
  execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: folder, stdio: 'pipe' });
});
