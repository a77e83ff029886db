import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMirrorCache } from './mirror-cache.ts';
import type { MirrorCache } from './mirror-cache.ts';

test('mirrors go when they are old, too many or too large, the longest unused first, and never in use', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-mirrors-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const names = ['oldest', 'older', 'recent', 'newest'];
  for (const [index, name] of names.entries()) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, 'pack'), Buffer.alloc(1024 * 1024));
    const hours = [100, 3, 2, 1][index] ?? 0;
    const at = new Date(Date.now() - hours * 3_600_000);
    utimesSync(join(root, name), at, at);
  }
  const bounds = { maxMirrors: 10, maxBytes: 1024 ** 3, maxAgeMs: 50 * 3_600_000 };
  const cache = (change: Partial<typeof bounds>) => createMirrorCache(root, { ...bounds, ...change });
  assert.deepEqual(await cache({}).tidy(), ['oldest']);
  const held = cache({ maxMirrors: 2 });
  const release = held.hold('older');
  assert.deepEqual(await held.tidy(), ['recent'], 'one in use is passed over');
  release();
  assert.deepEqual(await cache({ maxBytes: 1.5 * 1024 * 1024 }).tidy(), ['older']);
  assert.deepEqual(readdirSync(root), ['newest']);
});

const bounds = { maxMirrors: 10, maxBytes: 1024 ** 3, maxAgeMs: 3_600_000 };

/** A git that holds a reference's lock, killed as a server's death or its deadline kills it. */
async function killInTheMiddle(gitDir: string, commit: string): Promise<void> {
  const git = spawn('git', [`--git-dir=${gitDir}`, 'update-ref', '--stdin'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  git.stdin.write(`start\nupdate refs/lemniscate/fetched ${commit}\nprepare\n`);
  let said = '';
  for await (const chunk of git.stdout.setEncoding('utf8')) {
    said += String(chunk);
    if (said.includes('prepare: ok')) break;
  }
  git.kill('SIGKILL');
  await once(git, 'exit');
}

for (const { where, next } of [
  { where: 'in the same process', next: (_root: string, cache: MirrorCache) => cache },
  { where: 'after a restart', next: (root: string) => createMirrorCache(root, bounds) },
])
  test(`what a killed git locked is free again ${where}`, async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'lemniscate-mirrors-'));
    t.after(() => rmSync(root, { recursive: true, force: true }));
    const git = (gitDir: string, ...args: string[]): string =>
      execFileSync(
        'git',
        ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', `--git-dir=${gitDir}`, ...args],
        {
          encoding: 'utf8',
          input: '',
          stdio: ['pipe', 'pipe', 'pipe'],
        },
      ).trim();
    const cache = createMirrorCache(root, bounds);
    let commit = '';
    const gitDir = await cache.use(
      'mirror',
      async (mirror) => {
        git(mirror.gitDir, 'init', '-q', '--bare');
        commit = git(mirror.gitDir, 'commit-tree', '-m', 'c', git(mirror.gitDir, 'mktree'));
      },
      async (mirror) => mirror.gitDir,
    );
    const update = async () => void git(gitDir, 'update-ref', 'refs/lemniscate/fetched', commit);
    await assert.rejects(
      cache.use(
        'mirror',
        async () => {
          await killInTheMiddle(gitDir, commit);
          throw new Error('killed');
        },
        async () => undefined,
      ),
      /killed/,
    );
    await assert.rejects(update(), /fetched\.lock/, 'the lock stands in the way of any git');
    const later = next(root, cache);
    await later.recover();
    await later.use('mirror', update, async () => undefined);
    assert.equal(git(gitDir, 'rev-parse', 'refs/lemniscate/fetched'), commit);
  });
