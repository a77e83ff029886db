import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { WorkingCopy } from '../../application/ports/working-copies.ts';
import { gitIn, openWorkingCopyBench, ownFolder, sandboxUser } from '../../testing/working-copy-bench.ts';

const root = ownFolder('hostile');
/** Whatever runs on the host makes a file here; whatever escapes writes or reads here. */
const outside = join(root, 'outside');

before(() => {
  mkdirSync(outside);
  chmodSync(outside, 0o777);
  writeFileSync(join(outside, 'secret'), 'of the host\n');
});
// before the bench is taken down, and the folder with it
after(() => {
  assert.deepEqual(readdirSync(outside), ['secret'], 'nothing ran on the host and nothing was written there');
});

const { copies } = openWorkingCopyBench(root);

function repository(prepare: (folder: string, git: (...args: string[]) => string) => void): string {
  const folder = join(root, `repository-${randomUUID()}`);
  mkdirSync(folder);
  const git = (...args: string[]) => gitIn(folder, ...args).trim();
  git('init', '-q', '-b', 'main');
  writeFileSync(join(folder, 'README.md'), 'hostile\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
  prepare(folder, git);
  return folder;
}

async function lay(path: string): Promise<{ copy: WorkingCopy; folder: string }> {
  const folder = join(root, `workspace-${randomUUID()}`);
  mkdirSync(folder);
  const copy = await copies.lay({
    projectId: 'p',
    repository: { kind: 'path', path },
    folder,
    user: sandboxUser,
    signal: AbortSignal.timeout(240_000),
    deadlineMs: 240_000,
  });
  return { copy, folder };
}

/** Takes away what plain git has run, for the test's own commands run it too. */
function clearOutside(): void {
  for (const name of readdirSync(outside)) if (name !== 'secret') rmSync(join(outside, name));
}

const touch = (name: string): string => `touch ${join(outside, name)}`;

test('links to the root of the host and to its files stay links, in the copy and in the diff', async () => {
  const path = repository((folder, git) => {
    symlinkSync('/', join(folder, 'everything'));
    symlinkSync(join(outside, 'secret'), join(folder, 'secret'));
    git('add', '-A');
    git('commit', '-qm', 'links');
  });
  const { copy, folder } = await lay(path);
  assert.equal(readlinkSync(join(folder, 'everything')), '/');
  symlinkSync('/etc/shadow', join(folder, 'new'));
  const diff = await copy.diff();
  const patch = readFileSync(diff.patchFile, 'utf8');
  assert.match(patch, /\+\/etc\/shadow/);
  assert.doesNotMatch(patch, /of the host|root:/);
  await copy.discard();
});

test('a .git that is a file leads nowhere, in the source and in the workspace', async () => {
  const other = repository(() => undefined);
  const folder = join(root, `gitfile-${randomUUID()}`);
  mkdirSync(folder);
  writeFileSync(join(folder, '.git'), `gitdir: ${outside}\n`);
  await assert.rejects(lay(folder), { code: 'repository_broken' });
  const { copy, folder: workspace } = await lay(other);
  rmSync(join(workspace, '.git'), { recursive: true });
  writeFileSync(join(workspace, '.git'), `gitdir: ${outside}\n`);
  writeFileSync(join(workspace, 'made'), 'x\n');
  const { summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map((file) => file.path),
    ['made'],
  );
  await copy.discard();
});

test('configuration of the source runs nothing: hooks, helpers, monitors, upload-pack hooks, includes', async () => {
  const path = repository((folder, git) => {
    const hooks = join(folder, '.git/hooks');
    mkdirSync(hooks, { recursive: true });
    for (const hook of ['post-checkout', 'pre-commit', 'reference-transaction', 'post-index-change'])
      writeFileSync(join(hooks, hook), `#!/bin/sh\n${touch(hook)}\n`, { mode: 0o755 });
    for (const [name, value] of [
      ['core.fsmonitor', touch('fsmonitor')],
      ['core.sshCommand', touch('ssh')],
      ['uploadpack.packObjectsHook', touch('pack')],
      ['credential.helper', `!${touch('credential')}`],
      ['core.pager', touch('pager')],
      ['diff.external', touch('diff')],
      ['filter.evil.smudge', touch('smudge')],
      ['filter.evil.clean', touch('clean')],
      ['core.gitProxy', touch('proxy')],
      ['core.alternateRefsCommand', touch('alternate')],
    ])
      git('config', name ?? '', value ?? '');
    writeFileSync(join(folder, '.gitattributes'), '* filter=evil diff=evil\n');
    git('-c', 'filter.evil.clean=cat', '-c', 'core.fsmonitor=false', 'add', '-A');
    git('-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', 'commit', '-qm', 'evil');
    clearOutside();
  });
  const { copy } = await lay(path);
  await copy.diff();
  await copy.discard();
  // It can fail: plain git on the same folder does run what the configuration names.
  execFileSync('git', ['status'], { cwd: path, stdio: 'ignore' });
  assert.ok(existsSync(join(outside, 'fsmonitor')));
  clearOutside();
});

test('submodules with addresses that are commands are left out and run nothing', async () => {
  const path = repository((folder, git) => {
    const commit = git('rev-parse', 'HEAD');
    const modules = [
      ['a', `ext::sh -c ${touch('ext')}`],
      ['b', `--upload-pack=${touch('upload')}`],
      ['c', `file://${outside}`],
      ['../../d', 'https://example.invalid/r.git'],
    ];
    writeFileSync(
      join(folder, '.gitmodules'),
      modules
        .map(
          ([name, url]) =>
            `[submodule "${name}"]\n\tpath = m/${name?.replaceAll('/', '')}\n\turl = ${url}\n\tupdate = !${touch('update')}\n`,
        )
        .join(''),
    );
    git('add', '-A');
    for (const [name] of modules)
      git('update-index', '--add', '--cacheinfo', `160000,${commit},m/${name?.replaceAll('/', '')}`);
    git('commit', '-qm', 'submodules');
  });
  const { copy, folder } = await lay(path);
  assert.match(copy.notices.join(''), /Submodules are left out/);
  assert.deepEqual(existsSync(join(folder, 'm/a')) ? readdirSync(join(folder, 'm/a')) : [], []);
  await copy.diff();
  await copy.discard();
});

test('trees that name .git, its disguises or the folder above are refused whole', async () => {
  for (const name of ['.git', '..', '.GIT', '.git ']) {
    const path = repository((folder, git) => {
      const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], {
        cwd: folder,
        input: `[core]\n\tfsmonitor = ${touch('tree')}\n`,
        encoding: 'utf8',
      }).trim();
      const make = (line: string) =>
        execFileSync('git', ['mktree'], { cwd: folder, input: line, encoding: 'utf8' }).trim();
      const inner = make(`100644 blob ${blob}\tconfig\n`);
      const tree = make(`040000 tree ${inner}\t${name}\n`);
      git('update-ref', 'refs/heads/main', git('commit-tree', tree, '-m', 'evil'));
    });
    await assert.rejects(lay(path), { code: 'repository_broken' }, name);
  }
});

test('names with newlines, control characters, other encodings, dashes and collisions come back as they are', async () => {
  const names = [
    'two\nlines',
    'tab\tand\u0007bell',
    '-rf',
    'Case',
    'case',
    '"quoted"',
    'ünïcode',
    'n'.repeat(255),
    ' ',
    '{a,b}',
    '$(id)',
  ];
  const path = repository((folder, git) => {
    for (const name of names) writeFileSync(join(folder, name), 'x\n');
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/latin-`), Buffer.from([0xe9])]), 'x\n');
    git('add', '-A');
    git('commit', '-qm', 'names');
  });
  const { copy, folder } = await lay(path);
  for (const name of names) writeFileSync(join(folder, name), 'y\n');
  const { summary, patchFile } = await copy.diff();
  assert.deepEqual(summary.files.map((file) => file.path).sort(), [...names].sort());
  // The diff applies to the base, byte for byte.
  const check = join(root, `check-${randomUUID()}`);
  execFileSync('git', ['clone', '-q', path, check]);
  execFileSync('git', ['apply', patchFile], { cwd: check });
  for (const name of names) assert.equal(readFileSync(join(check, name), 'utf8'), 'y\n', name);
  await copy.discard();
});

test('a file of two gigabytes in the workspace is left out and told, and the rest of the work is offered', async () => {
  const { copy, folder } = await lay(repository(() => undefined));
  for (const name of ['huge', ':(glob)*\nhuge']) {
    writeFileSync(join(folder, name), '');
    truncateSync(join(folder, name), 2 * 1024 ** 3);
  }
  writeFileSync(join(folder, 'small'), 'work\n');
  const diff = await copy.diff();
  assert.deepEqual(
    diff.summary.files.map((file) => file.path),
    ['small'],
  );
  assert.match(diff.notices.join(''), /larger than 256 MiB.*huge/s);
  await copy.discard();
});

test('pointers of large files stay as they are, and no filter is asked for their contents', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 123456789\n`;
  const path = repository((folder, git) => {
    writeFileSync(join(folder, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    writeFileSync(join(folder, 'large.bin'), pointer);
    git('add', '-A');
    git('commit', '-qm', 'pointer');
    for (const name of ['clean', 'smudge', 'process'])
      git('config', `filter.lfs.${name}`, touch(`lfs-${name}`));
  });
  clearOutside();
  const { copy, folder } = await lay(path);
  assert.equal(readFileSync(join(folder, 'large.bin'), 'utf8'), pointer);
  writeFileSync(join(folder, 'README.md'), 'changed\n');
  const { patchFile } = await copy.diff();
  const patch = readFileSync(patchFile, 'utf8');
  assert.match(patch, /README\.md/);
  assert.doesNotMatch(patch, /large\.bin/);
  assert.deepEqual(readdirSync(outside), ['secret']);
  await copy.discard();
});

test('a repository of 100,000 files in one fetch is laid and compared like any other', async () => {
  const path = repository((folder) => {
    const names = Array.from({ length: 100_000 }, (_, index) => `d${index % 100}/f${index}`);
    const commit = 'commit refs/heads/main\ncommitter T <t@example.invalid> 0 +0000\ndata 4\nmany\n';
    const files = names.map((name) => `M 100644 :1 ${name}\n`).join('');
    execFileSync('git', ['fast-import', '--quiet', '--force'], {
      cwd: folder,
      input: `blob\nmark :1\ndata 2\nx\n${commit}${files}`,
    });
  });
  const { copy, folder } = await lay(path);
  writeFileSync(join(folder, 'd7/f99907'), 'changed\n');
  rmSync(join(folder, 'd8/f8'));
  const { summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map(({ path: name, change }) => [name, change]),
    [
      ['d7/f99907', 'modified'],
      ['d8/f8', 'deleted'],
    ],
  );
  await copy.discard();
});

test('a few hundred bytes that would become ten thousand million files are refused before the first is written', async () => {
  const path = repository((folder, git) => {
    const make = (lines: string): string =>
      execFileSync('git', ['mktree'], { cwd: folder, input: lines, encoding: 'utf8' }).trim();
    let tree = make(`100644 blob ${git('rev-parse', 'HEAD:README.md')}\tfile\n`);
    for (let level = 0; level < 10; level += 1)
      tree = make(Array.from({ length: 10 }, (_, index) => `040000 tree ${tree}\t${index}\n`).join(''));
    git('update-ref', 'refs/heads/main', git('commit-tree', tree, '-m', 'bomb'));
  });
  await assert.rejects(lay(path), { code: 'repository_too_large' });
});

test('a file far beyond the bound is refused, however small it is packed, and nothing of it is laid out', async () => {
  const path = repository((folder, git) => {
    writeFileSync(join(folder, 'huge'), '');
    truncateSync(join(folder, 'huge'), 300 * 1024 ** 2);
    git('-c', 'core.compression=1', '-c', 'core.bigFileThreshold=1m', 'add', '-A');
    git('commit', '-qm', 'huge');
  });
  await assert.rejects(lay(path), { code: 'repository_too_large' });
});

test('a repository whose pack is larger than the bound is refused while it is fetched', async () => {
  const path = repository((folder, git) => {
    writeFileSync(join(folder, 'noise'), randomBytes(70 * 1024 * 1024));
    git('-c', 'core.compression=0', 'add', '-A');
    git('commit', '-qm', 'noise');
  });
  await assert.rejects(lay(path), { code: 'repository_too_large' });
});
