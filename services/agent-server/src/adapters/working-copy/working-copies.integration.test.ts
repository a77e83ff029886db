import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';
import type { WorkingCopy } from '../../application/ports/working-copies.ts';
import {
  gitIn,
  openWorkingCopies,
  openWorkingCopyBench,
  ownFolder,
  sandboxUser,
} from '../../testing/working-copy-bench.ts';

const root = ownFolder('wc');
const { driver, copies } = openWorkingCopyBench(root, { maxMirrors: 2 });
interface Source {
  readonly folder: string;
  git(...args: string[]): string;
  write(path: string, content: string | Buffer): void;
}

function source(): Source {
  const folder = join(root, `source-${randomUUID()}`);
  mkdirSync(folder);
  const git = (...args: string[]) => gitIn(folder, '-c', 'protocol.file.allow=always', ...args).trim();
  git('init', '-q', '-b', 'main');
  return {
    folder,
    git,
    write(path, content) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    },
  };
}

function commit(of: Source): string {
  of.git('add', '-A');
  of.git('commit', '-qm', 'c');
  return of.git('rev-parse', 'HEAD');
}

async function lay(
  repository: OrderedRepository,
  projectId = 'p',
): Promise<{ copy: WorkingCopy; folder: string }> {
  const folder = join(root, `workspace-${randomUUID()}`);
  mkdirSync(folder);
  const copy = await copies.lay({
    projectId,
    repository,
    folder,
    user: sandboxUser,
    signal: AbortSignal.timeout(60_000),
    deadlineMs: 60_000,
  });
  return { copy, folder };
}

const path = (of: Source): OrderedRepository => ({ kind: 'path', path: of.folder });

test('a copy has the files, belongs to the commands’ user, and its diff applies to the base', async () => {
  const of = source();
  of.write('src/a.js', 'one\ntwo\nthree\n');
  of.write('-x', 'dash\n');
  of.write('dir/é\n.txt', 'odd name\n');
  of.write('gone.txt', 'bye\n');
  of.write('picture', Buffer.from([0, 1, 2, 3]));
  symlinkSync('/etc/passwd', join(of.folder, 'link'));
  const head = commit(of);
  const { copy, folder } = await lay(path(of));
  assert.equal(copy.baseCommit, head);
  assert.equal(copy.baseTree, of.git('rev-parse', 'HEAD^{tree}'));
  assert.equal(readFileSync(join(folder, 'dir/é\n.txt'), 'utf8'), 'odd name\n');
  assert.equal(lstatSync(join(folder, 'link')).isSymbolicLink(), true);
  assert.equal(lstatSync(join(folder, 'src/a.js')).uid, sandboxUser.uid);

  const clean = await copy.diff();
  assert.deepEqual(clean.summary.files, []);
  assert.equal(clean.summary.bytes, 0);
  await copy.discard();

  writeFileSync(join(folder, 'src/a.js'), 'one\n2\nthree\n');
  writeFileSync(join(folder, 'new file.txt'), 'new\n');
  writeFileSync(join(folder, 'picture'), Buffer.from([0, 9, 9, 3]));
  rmSync(join(folder, 'gone.txt'));
  const { summary, patchFile } = await copy.diff();
  assert.deepEqual(
    summary.files.map(({ path, change, insertions, deletions }) => [path, change, insertions, deletions]),
    [
      ['gone.txt', 'deleted', 0, 1],
      ['new file.txt', 'added', 1, 0],
      ['picture', 'modified', null, null],
      ['src/a.js', 'modified', 1, 1],
    ],
  );
  assert.equal(summary.insertions, 2);
  assert.equal(summary.deletions, 2);
  const patch = readFileSync(patchFile);
  assert.equal(summary.sha256, createHash('sha256').update(patch).digest('hex'));
  assert.equal(summary.bytes, patch.length);
  execFileSync('git', ['apply', patchFile], { cwd: of.folder });
  assert.equal(readFileSync(join(of.folder, 'src/a.js'), 'utf8'), 'one\n2\nthree\n');
  assert.deepEqual([...readFileSync(join(of.folder, 'picture'))], [0, 9, 9, 3]);
  await copy.discard();
  await copy.discard();
  assert.deepEqual(readdirSync(join(root, 'state', 'sessions')), []);
});

test('files that only look changed are compared, and not written anew', async () => {
  const of = source();
  const names = Array.from({ length: 300 }, (_, index) => `dir/${index}`);
  for (const name of names) of.write(name, `file ${name}\n`);
  commit(of);
  const { copy, folder } = await lay(path(of));
  const anHourAgo = new Date(Date.now() - 3_600_000);
  for (const name of names) utimesSync(join(folder, name), anHourAgo, anHourAgo);
  writeFileSync(join(folder, 'dir/7'), 'changed\n');
  const { summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map((file) => file.path),
    ['dir/7'],
  );
  const written = readdirSync(join(root, 'state', 'sessions'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => /objects\/..\/.{38}$/.test(name),
  );
  assert.equal(written.length, 1, written.join('\n'));
  await copy.discard();
});

test('what the agent does to its own .git does not reach the diff', async () => {
  const of = source();
  of.write('a.txt', 'one\n');
  commit(of);
  const { copy, folder } = await lay(path(of));
  const agent = (...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...args], { cwd: folder, encoding: 'utf8' });
  assert.equal(agent('status', '--porcelain'), '');
  assert.match(agent('log', '--format=%s'), /^c\n/);
  writeFileSync(join(folder, 'a.txt'), 'two\n');
  agent('commit', '-qam', 'hidden in a commit');
  writeFileSync(join(folder, '.git', 'info', 'exclude'), 'b.txt\n');
  writeFileSync(join(folder, 'b.txt'), 'new\n');
  const { summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map(({ path }) => path),
    ['a.txt', 'b.txt'],
  );
  await copy.discard();
});

test('hooks, filters, file-system monitors and attributes of a repository run nothing', async () => {
  const of = source();
  const proof = join(root, 'proof');
  of.write('a.txt', 'one\n');
  of.write('.gitattributes', '* filter=evil diff=evil merge=evil\n');
  commit(of);
  const evil = `#!/bin/sh\ntouch ${proof} /workspace/proof 2>/dev/null\ncat\n`;
  writeFileSync(join(root, 'evil'), evil, { mode: 0o755 });
  const plant = (git: string) => {
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change'])
      writeFileSync(join(git, 'hooks', hook), evil, { mode: 0o755 });
    writeFileSync(
      join(git, 'config'),
      `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = ${join(root, 'evil')}\n\tpager = ${join(root, 'evil')}\n[filter "evil"]\n\tclean = ${join(root, 'evil')}\n\tsmudge = ${join(root, 'evil')}\n[diff "evil"]\n\ttextconv = ${join(root, 'evil')}\n\tcommand = ${join(root, 'evil')}\n[uploadpack]\n\tpackObjectsHook = ${join(root, 'evil')}\n`,
    );
  };
  mkdirSync(join(of.folder, '.git', 'hooks'), { recursive: true });
  plant(join(of.folder, '.git'));
  // The traps do work where git is not held back: this test is able to fail.
  execFileSync('git', ['status'], { cwd: of.folder });
  assert.ok(lstatSync(proof).isFile());
  rmSync(proof);

  const { copy, folder } = await lay(path(of));
  mkdirSync(join(folder, '.git', 'hooks'), { recursive: true });
  plant(join(folder, '.git'));
  writeFileSync(join(folder, 'a.txt'), 'two\n');
  const { summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map(({ path }) => path),
    ['a.txt'],
  );
  assert.throws(() => lstatSync(proof), { code: 'ENOENT' });
  assert.throws(() => lstatSync(join(folder, 'proof')), { code: 'ENOENT' });
  await copy.discard();
});

test('a nested repository and an unreadable file do not stop the diff', async () => {
  const of = source();
  of.write('a.txt', 'one\n');
  commit(of);
  const { copy, folder } = await lay(path(of));
  mkdirSync(join(folder, 'nested'));
  execFileSync('git', ['init', '-q'], { cwd: join(folder, 'nested') });
  writeFileSync(join(folder, 'nested', 'inner.txt'), 'x\n');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  writeFileSync(join(folder, 'a.txt'), 'two\n');
  const { summary } = await copy.diff();
  assert.ok(summary.files.some(({ path }) => path === 'a.txt'));
  await copy.discard();
});

/** @returns its origin */
async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

test('a bundle is read, verified, cached, and refused when it is another one', async () => {
  const of = source();
  of.write('a.txt', 'one\n');
  const head = commit(of);
  of.git('update-ref', 'refs/lemniscate/upload', head);
  const file = join(root, 'b.bundle');
  of.git('bundle', 'create', '-q', file, 'refs/lemniscate/upload');
  const bytes = readFileSync(file);
  let reads = 0;
  const server = createServer((_request, response) => {
    reads += 1;
    response.end(bytes);
  });
  const origin = await listen(server);
  const url = `${origin}/b`;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const bundle = { kind: 'bundle', sha256, commit: head, name: 'app', url } as const;
  try {
    const { copy, folder } = await lay(bundle);
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'one\n');
    assert.equal(copy.baseCommit, head);
    await lay(bundle);
    assert.equal(reads, 1, 'the second copy comes from the mirror');
    await lay(bundle, 'another project');
    assert.equal(reads, 2, 'mirrors are not shared between projects');
    await assert.rejects(lay({ ...bundle, sha256: '0'.repeat(64) }), { code: 'digest_mismatch' });
    await assert.rejects(lay({ ...bundle, commit: '1'.repeat(40) }, 'x'), { code: 'repository_broken' });
  } finally {
    server.close();
  }
  await copies.tidy();
  const left = readdirSync(join(root, 'state', 'mirrors'));
  assert.equal(left.filter((name) => name.startsWith('.making')).length, 0, 'nothing half-made is left');
  assert.ok(left.length <= 2, 'the cache is bounded');
});

test('a bundle is read again when its line is cut or the store is away, and not when the store refuses it', async () => {
  const of = source();
  of.write('a.txt', 'cut\n');
  const head = commit(of);
  of.git('update-ref', 'refs/lemniscate/upload', head);
  const file = join(root, 'cut.bundle');
  of.git('bundle', 'create', '-q', file, 'refs/lemniscate/upload');
  const bytes = readFileSync(file);
  const answers = [
    // half of the body, and the line is cut
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 10), () => response.destroy());
    },
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.writeHead(503).end('away'),
    (response: ServerResponse) => response.end(bytes),
  ];
  let asked = 0;
  const server = createServer((request, response) => {
    const answer = request.url === '/refused' ? undefined : answers[asked];
    asked += 1;
    if (answer === undefined) response.writeHead(403).end('no');
    else answer(response);
  });
  const origin = await listen(server);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const bundle = { kind: 'bundle', sha256, commit: head, name: 'app' } as const;
  const at = (path: string) => `${origin}${path}`;
  try {
    const { folder } = await lay({ ...bundle, url: at('/b') }, 'cut');
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'cut\n');
    assert.equal(asked, answers.length);
    await assert.rejects(lay({ ...bundle, url: at('/refused') }, 'refused'), { code: 'storage_failed' });
    assert.equal(asked, answers.length + 1, 'what is refused is asked once');
  } finally {
    server.close();
  }
});

test('what is no repository, has no commit, or may not be read is named', async () => {
  const of = source();
  await assert.rejects(lay(path(of)), { code: 'repository_empty' });
  await assert.rejects(lay({ kind: 'path', path: join(root, 'nowhere') }), { code: 'repository_missing' });
  await assert.rejects(lay({ kind: 'path', path: 'relative' }), { code: 'repository_source_refused' });
  await assert.rejects(lay({ kind: 'git', url: 'file:///etc' }), { code: 'repository_source_refused' });
  await assert.rejects(lay({ kind: 'git', url: 'ext::sh -c id' }), { code: 'repository_source_refused' });
  await assert.rejects(lay({ kind: 'git', url: 'ssh://-oProxyCommand=id/x' }), {
    code: 'repository_source_refused',
  });
  of.write('a.txt', 'one\n');
  commit(of);
  await assert.rejects(lay({ ...path(of), kind: 'path', path: of.folder, revision: 'nope' }), {
    code: 'revision_missing',
  });
  const strict = openWorkingCopies({ stateFolder: join(root, 'strict'), driver, allowLocalPaths: false });
  const request = {
    projectId: 'p',
    repository: path(of),
    folder: root,
    user: sandboxUser,
    signal: AbortSignal.timeout(60_000),
    deadlineMs: 60_000,
  };
  await assert.rejects(strict.lay(request), { code: 'repository_source_refused' });
});

test('submodules are left out and told', async () => {
  const inner = source();
  inner.write('i.txt', 'i\n');
  commit(inner);
  const of = source();
  of.write('a.txt', 'one\n');
  of.git('submodule', 'add', '-q', inner.folder, 'lib/inner');
  commit(of);
  const { copy, folder } = await lay(path(of));
  assert.deepEqual(copy.notices, ['Submodules are left out: lib/inner']);
  assert.deepEqual(readdirSync(join(folder, 'lib/inner')), []);
  assert.deepEqual((await copy.diff()).summary.files, []);
  await copy.discard();
});
