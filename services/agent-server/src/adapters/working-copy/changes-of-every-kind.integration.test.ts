import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gitIn, openWorkingCopyBench, ownFolder, sandboxUser } from '../../testing/working-copy-bench.ts';

const root = ownFolder('changes');
const { copies } = openWorkingCopyBench(root);
const put = (folder: string, path: string, content: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};

/** What a repository has in it before anybody changes it. */
function makeSource(): string {
  const folder = join(root, `source-${randomUUID()}`);
  mkdirSync(folder);
  gitIn(folder, 'init', '-q', '-b', 'main');
  for (let n = 0; n < 600; n += 1) put(folder, `many/${n}`, `line of ${n}\n`);
  for (const path of ['same', 'script', 'becomes-link', 'becomes-folder', 'folder/in it'])
    put(folder, path, `${path}\n`);
  for (const path of ['-dash', 'glob*', ':(exclude)colon', 'new\nline', 'folder-to-file/x', 'ignored/kept'])
    put(folder, path, `${path}\n`);
  put(folder, '.gitignore', 'ignored/\n*.log\n');
  symlinkSync('same', join(folder, 'link'));
  gitIn(folder, 'add', '-A', '-f');
  gitIn(folder, 'commit', '-qm', 'c');
  return folder;
}

/** One change of each kind that git knows. */
function changeAll(folder: string): void {
  const before = lstatSync(join(folder, 'same'));
  writeFileSync(join(folder, 'same'), 'SAME\n');
  utimesSync(join(folder, 'same'), before.atime, before.mtime);
  chmodSync(join(folder, 'script'), 0o755);
  for (const path of ['becomes-link', 'becomes-folder', 'link', 'folder-to-file'])
    rmSync(join(folder, path), { recursive: true });
  symlinkSync('/etc/passwd', join(folder, 'becomes-link'));
  put(folder, 'becomes-folder/inside', 'x\n');
  symlinkSync('other', join(folder, 'link'));
  put(folder, 'folder-to-file', 'file\n');
  rmSync(join(folder, 'folder'), { recursive: true });
  for (const path of ['-dash', 'glob*', ':(exclude)colon', 'new\nline', 'ignored/kept'])
    put(folder, path, 'changed\n');
  for (const path of ['-new', 'glob?', ':!bang', 'deep/er/new', 'new\nname', 'é']) put(folder, path, 'new\n');
  for (const path of ['ignored/not kept', 'a.log']) put(folder, path, 'ignored\n');
}

async function lay(source: string, installed: readonly string[] = []) {
  const folder = join(root, `workspace-${randomUUID()}`);
  mkdirSync(folder);
  const copy = await copies.lay({
    projectId: 'p',
    repository: { kind: 'path', path: source },
    folder,
    installed,
    user: sandboxUser,
    signal: AbortSignal.timeout(60_000),
    deadlineMs: 60_000,
  });
  return { copy, folder };
}

const plain = ['-c', 'core.bare=false', '-c', 'core.quotePath=false'];

/** What plain git makes of the same files. */
function expected(source: string, folder: string): string {
  const gitDir = join(root, `reference-${randomUUID()}`);
  execFileSync('git', ['clone', '-q', '--bare', source, gitDir], { stdio: 'pipe' });
  const git = (...args: string[]) =>
    execFileSync('git', [`--git-dir=${gitDir}`, `--work-tree=${folder}`, ...plain, ...args], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
  git('reset', '-q');
  git('add', '-A');
  return git('diff', '--cached', '-M', '--binary', '--full-index', 'HEAD');
}

for (const { name, more } of [
  { name: 'a few changes', more: 0 },
  { name: 'hundreds of changes', more: 500 },
])
  test(`${name} of every kind make the patch that git makes of all files`, async () => {
    const source = makeSource();
    const { copy, folder } = await lay(source);
    changeAll(folder);
    for (let n = 0; n < more; n += 1) put(folder, `many/${n}`, `changed ${n}\n`);
    const { patchFile, notices, summary } = await copy.diff();
    const patch = readFileSync(patchFile, 'utf8');
    assert.equal(patch, expected(source, folder));
    assert.deepEqual(notices, []);
    const changed = new Set(summary.files.map((file) => file.path));
    for (const path of ['same', 'script', 'folder/in it', 'ignored/kept', 'new\nname'])
      assert.ok(changed.has(path), `${JSON.stringify(path)} is missing`);
    for (const path of ['ignored/not kept', 'a.log']) assert.ok(!changed.has(path), `${path} is ignored`);
    await copy.discard();
  });

test('what came with an environment is no change, be the changes few, none or those alone', async () => {
  const source = makeSource();
  const { copy, folder } = await lay(source, ['node_modules', 'same']);
  const paths = async () => (await copy.diff()).summary.files.map((file) => file.path);
  assert.deepEqual(await paths(), []);
  put(folder, 'node_modules/p/index.js', 'x\n');
  assert.deepEqual(await paths(), []);
  put(folder, 'script', 'changed\n');
  // the repository has this one, so it is the session's work wherever it came from
  put(folder, 'same', 'changed\n');
  assert.deepEqual(await paths(), ['same', 'script']);
  await copy.discard();
});

/** The host's own git directory of the only checkout of a source. */
function checkoutOf(source: string): string {
  const head = gitIn(source, 'rev-parse', 'HEAD').trim();
  const [checkout] = globSync(`mirrors/*/checkout-${head}-${sandboxUser.uid}/git`, {
    cwd: join(root, 'state'),
  });
  assert.ok(checkout !== undefined);
  return join(root, 'state', checkout);
}

test('where git cannot list the changes, all files are looked at, and large ones are still left out', async () => {
  const source = makeSource();
  gitIn(source, 'commit', '-q', '--allow-empty', '-m', 'a commit of its own');
  const { copy, folder } = await lay(source);
  put(folder, 'script', 'changed\n');
  rmSync(join(folder, 'folder'), { recursive: true });
  put(folder, 'large file', '');
  truncateSync(join(folder, 'large file'), 300 * 1024 ** 2);
  const gitDir = checkoutOf(source);
  writeFileSync(join(gitDir, 'HEAD'), `${'1'.repeat(40)}\n`);
  assert.throws(
    () => execFileSync('git', [`--git-dir=${gitDir}`, `--work-tree=${folder}`, 'status'], { stdio: 'pipe' }),
    /bad object HEAD/,
  );
  const { summary, notices } = await copy.diff();
  assert.deepEqual(
    summary.files.map((file) => file.path),
    ['folder/in it', 'script'],
  );
  assert.equal(notices.length, 1);
  assert.match(notices[0] ?? '', /left out: large file/);
  await copy.discard();
});

test('what git cannot take is told, and the rest is offered', async () => {
  const source = makeSource();
  const { copy, folder } = await lay(source);
  rmSync(join(folder, 'same'));
  execFileSync('mkfifo', [join(folder, 'same')]);
  put(folder, 'script', 'changed\n');
  put(folder, 'new', 'new\n');
  const { summary, notices } = await copy.diff();
  assert.deepEqual(
    summary.files.map((file) => file.path),
    ['new', 'script'],
  );
  assert.match(notices.join(), /same: can only add regular files/);
  await copy.discard();
});

test('a folder that cannot be read is told', { skip: process.getuid?.() !== 0 }, async () => {
  const source = makeSource();
  const { copy, folder } = await lay(source);
  mkdirSync(join(folder, 'closed'), { mode: 0o700 });
  put(folder, 'script', 'changed\n');
  const { summary, notices } = await copy.diff();
  assert.deepEqual(
    summary.files.map((file) => file.path),
    ['script'],
  );
  assert.match(notices.join(), /closed/);
  await copy.discard();
});
