import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { bundledLargeFilesRef, parseLfsPointer } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';
import { createTestAuthority } from '../../../testing/certificates.ts';
import { startLfsServer } from '../../../testing/lfs-server.ts';
import { gitIn, openWorkingCopyBench, ownFolder, sandboxUser } from '../../../testing/working-copy-bench.ts';

const root = ownFolder('lfs');
const served = join(root, 'served');
mkdirSync(served);
const authority = await createTestAuthority(root);
const server = await startLfsServer(served, await authority.issue('git', 'https://git.invalid'));
after(() => server.close());
const { copies } = openWorkingCopyBench(root, {
  hosts: { privateHosts: ['localhost'], authorityFile: authority.caFile },
  maxRepositoryFiles: 10_000,
});

const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
const put = (folder: string, path: string, content: string | Buffer): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};

/** A repository that the host serves, with these files in it. */
function publish(files: Readonly<Record<string, string>>): { folder: string; url: string; publish(): void } {
  const name = `repository-${randomUUID()}`;
  const folder = join(root, name);
  mkdirSync(folder);
  gitIn(folder, 'init', '-q', '-b', 'main');
  for (const [path, content] of Object.entries({ '.gitattributes': attributes, ...files }))
    put(folder, path, content);
  const bare = join(served, `${name}.git`);
  const send = (): void => {
    gitIn(folder, 'add', '-A');
    gitIn(folder, 'commit', '-qm', 'c');
    rmSync(bare, { recursive: true, force: true });
    gitIn(root, 'clone', '-q', '--bare', folder, bare);
    gitIn(bare, 'update-server-info');
  };
  send();
  return { folder, url: `https://${server.host}/${name}`, publish: send };
}

async function lay(repository: OrderedRepository) {
  const folder = join(root, `workspace-${randomUUID()}`);
  mkdirSync(folder);
  const signal = AbortSignal.timeout(60_000);
  const copy = await copies.lay({
    projectId: 'p',
    repository,
    folder,
    user: sandboxUser,
    signal,
    deadlineMs: 60_000,
  });
  return { copy, folder };
}

const over = (url: string, lfs: 'required' | 'available'): OrderedRepository => ({
  kind: 'git',
  url: `${url}.git`,
  fetch: { lfs },
});

const oidOf = (pointer: string): string => parseLfsPointer(pointer)?.oid ?? assert.fail(pointer);
const content = (what: string): string => `${what}\n`.repeat(2_000);

test('contents are laid, are no change, and a changed one leaves whole and applies to the pointer', async () => {
  const pointers = { 'a.bin': server.put(content('a')), 'deep/odd\n name.bin': server.put(content('odd')) };
  const alike = server.put(content('alike'));
  const { url, folder: source } = publish({
    ...pointers,
    'no attribute': alike,
    'empty.bin': '',
    'b.txt': 'b\n',
  });
  const { copy, folder } = await lay(over(url, 'required'));
  assert.deepEqual(copy.notices, []);
  assert.equal(readFileSync(join(folder, 'a.bin'), 'utf8'), content('a'));
  assert.equal(readFileSync(join(folder, 'deep/odd\n name.bin'), 'utf8'), content('odd'));
  assert.equal(readFileSync(join(folder, 'no attribute'), 'utf8'), alike);
  assert.equal(lstatSync(join(folder, 'a.bin')).uid, sandboxUser.uid);
  assert.equal(copy.baseTree, gitIn(source, 'rev-parse', 'HEAD^{tree}').trim());
  assert.deepEqual((await copy.diff()).summary.files, []);
  const own = ['-c', 'safe.directory=*', 'status', '--porcelain'];
  assert.equal(gitIn(folder, ...own), '', 'the agent’s own git sees no change either');

  put(folder, 'a.bin', content('A'));
  put(folder, 'new.bin', content('new'));
  put(folder, 'b.txt', 'changed\n');
  const { patchFile, summary } = await copy.diff();
  assert.deepEqual(
    summary.files.map(({ path, change }) => [path, change]),
    [
      ['a.bin', 'modified'],
      ['b.txt', 'modified'],
      ['new.bin', 'added'],
    ],
  );
  const target = join(root, `target-${randomUUID()}`);
  gitIn(root, 'clone', '-q', source, target);
  gitIn(target, 'apply', patchFile);
  for (const name of ['a.bin', 'new.bin', 'b.txt'])
    assert.equal(readFileSync(join(target, name), 'utf8'), readFileSync(join(folder, name), 'utf8'), name);
  assert.equal(readFileSync(join(target, 'deep/odd\n name.bin'), 'utf8'), pointers['deep/odd\n name.bin']);
  await copy.discard();
});

test('hundreds of changes show no large file that nobody touched, and one put back to its pointer is none', async () => {
  const small = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`many/${index}`, 'x\n']));
  const pointer = server.put(content('back'));
  const { url } = publish({ ...small, 'a.bin': server.put(content('kept')), 'back.bin': pointer });
  const { copy, folder } = await lay(over(url, 'required'));
  for (const name of Object.keys(small)) put(folder, name, 'changed\n');
  put(folder, 'back.bin', pointer);
  const { summary } = await copy.diff();
  assert.deepEqual(summary.files.map(({ path }) => path).sort(), Object.keys(small).sort());
  await copy.discard();
});

test('an object is fetched once for all commits, and only from the repository’s own host', async () => {
  const pointer = server.put(content('once'));
  const evil = `[lfs]\n\turl = https://${server.host}/evil/info/lfs\n`;
  const { url, folder, publish: send } = publish({ 'a.bin': pointer, '.lfsconfig': evil });
  const before = server.asked.length;
  await (await lay(over(url, 'required'))).copy.discard();
  put(folder, 'more.txt', 'more\n');
  send();
  const { copy } = await lay(over(url, 'required'));
  await copy.discard();
  const asked = server.asked.slice(before);
  assert.equal(asked.filter((line) => line === `batch ${oidOf(pointer)}`).length, 1);
  assert.equal(asked.filter((line) => line === `GET /objects/${oidOf(pointer)}`).length, 1);
  assert.deepEqual(
    asked.filter((line) => line.includes('evil')),
    [],
  );
});

test('what its server lacks is named where it is required, and else stays a pointer and is told', async () => {
  const gone = `version https://git-lfs.github.com/spec/v1\noid sha256:${'e'.repeat(64)}\nsize 10\n`;
  const { url } = publish({ 'gone.bin': gone, 'here.bin': server.put(content('here')) });
  await assert.rejects(lay(over(url, 'required')), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'large_file_missing');
    assert.match(error.message, /gone\.bin \(sha256:e{64}: Object does not exist\)/);
    assert.doesNotMatch(error.message, /here\.bin/);
    return true;
  });
  const { copy, folder } = await lay(over(url, 'available'));
  assert.match(copy.notices.join(), /^Large files are pointers: gone\.bin/);
  assert.equal(readFileSync(join(folder, 'gone.bin'), 'utf8'), gone);
  assert.equal(readFileSync(join(folder, 'here.bin'), 'utf8'), content('here'));
  assert.deepEqual((await copy.diff()).summary.files, []);
  await copy.discard();
});

for (const { what, body, says } of [
  { what: 'other contents', body: content('wrong'), says: /of sha256 [0-9a-f]{64}/ },
  { what: 'more than it says', body: content('right') + content('right'), says: /more than 12000 bytes/ },
  { what: 'less than it says', body: 'right\n', says: /6 bytes of sha256/ },
])
  test(`${what} are refused, and nothing of them is kept`, async () => {
    const pointer = server.put(content('right'));
    server.instead.set(oidOf(pointer), { status: 200, body });
    try {
      const { url } = publish({ 'a.bin': pointer });
      await assert.rejects(lay(over(url, 'available')), { code: 'digest_mismatch', message: says });
      assert.deepEqual(globSync(`mirrors/*/lfs/${oidOf(pointer)}*`, { cwd: join(root, 'state') }), []);
    } finally {
      server.instead.delete(oidOf(pointer));
    }
  });

for (const [what, address] of [
  ['a private address', 'https://10.0.0.1/object'],
  ['this machine under another name', 'https://127.0.0.1:1/object'],
  ['no https', 'http://localhost:1/object'],
  ['a file', 'file:///etc/passwd'],
  ['credentials of its own', 'https://a:b@localhost:1/object'],
] as const)
  test(`a server that sends for an object to ${what} is refused, at once and by a redirect`, async () => {
    const pointer = server.put(content(what));
    const oid = oidOf(pointer);
    const { url } = publish({ 'a.bin': pointer });
    server.elsewhere.set(oid, address);
    await assert.rejects(lay(over(url, 'available')), { code: 'repository_source_refused' });
    server.elsewhere.delete(oid);
    server.instead.set(oid, { status: 302, headers: { location: address } });
    await assert.rejects(lay(over(url, 'available')), { code: 'repository_source_refused' });
    server.instead.delete(oid);
    await (await lay(over(url, 'available'))).copy.discard();
  });

test('a server that refuses, that nobody vouches for or that breaks off is named', async (t) => {
  const pointer = server.put(content('broken'));
  const oid = oidOf(pointer);
  const { url } = publish({ 'a.bin': pointer });
  const refuses = async (says: RegExp) =>
    assert.rejects(lay(over(url, 'available')), { code: 'large_file_missing', message: says });
  const stranger = await createTestAuthority(root, 'stranger');
  const { cert, key } = await stranger.issue('stranger', 'https://stranger.invalid');
  const other = createTlsServer({ cert, key }, (_request, response) => void response.end('x'));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const address = other.address();
  assert.ok(address !== null && typeof address === 'object');
  server.elsewhere.set(oid, `https://localhost:${address.port}/object`);
  await refuses(/localhost:\d+ does not give large files: .*certificate/i);
  server.elsewhere.set(oid, 'https://localhost:1/object');
  await refuses(/localhost:1 does not give large files: .*ECONNREFUSED/);
  server.elsewhere.delete(oid);
  server.instead.set(oid, {
    status: 200,
    headers: { 'content-length': '100000' },
    body: 'short',
    breaks: true,
  });
  await refuses(/localhost:\d+ does not give large files: aborted/);
  server.instead.set(oid, { status: 500 });
  await refuses(/HTTP 500/);
  server.instead.delete(oid);
});

test('large files beyond the bound are refused before the first is asked for', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'d'.repeat(64)}\nsize 99999999999\n`;
  const { url } = publish({ 'a.bin': pointer });
  await assert.rejects(lay(over(url, 'available')), { code: 'repository_too_large' });
  assert.ok(!server.asked.includes(`batch ${'d'.repeat(64)}`));
});

test('links and folders of the tree lead no contents out of it', async () => {
  const pointer = server.put(content('in'));
  const repository = publish({ 'a.bin': pointer });
  symlinkSync('/etc', join(repository.folder, 'etc.bin'));
  symlinkSync(pointer.slice(0, 100).replaceAll('\n', ' '), join(repository.folder, 'link.bin'));
  repository.publish();
  const { copy, folder } = await lay(over(repository.url, 'required'));
  for (const name of ['etc.bin', 'link.bin']) assert.ok(lstatSync(join(folder, name)).isSymbolicLink());
  assert.deepEqual((await copy.diff()).summary.files, []);
  await copy.discard();
});

test('a folder of this machine gives the objects that git-lfs keeps in it', async () => {
  const pointer = server.put(content('local'));
  const { folder: source } = publish({ 'a.bin': pointer });
  const path: OrderedRepository = { kind: 'path', path: source, fetch: { lfs: 'required' } };
  await assert.rejects(lay(path), { code: 'large_file_missing', message: /a\.bin/ });
  const oid = oidOf(pointer);
  put(source, `.git/lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`, content('local'));
  const { copy, folder } = await lay(path);
  assert.equal(readFileSync(join(folder, 'a.bin'), 'utf8'), content('local'));
  appendFileSync(join(folder, 'a.bin'), 'more\n');
  assert.equal((await copy.diff()).summary.files.length, 1);
  await copy.discard();
});

/** Serves a bundle of a repository, and of whatever else its refs name. */
async function bundleOf(source: string, t: TestContext) {
  const file = join(root, `${randomUUID()}.bundle`);
  gitIn(source, 'bundle', 'create', '-q', file, '--all');
  const bytes = readFileSync(file);
  const storage = createServer((_request, response) => void response.end(bytes));
  storage.listen(0, '127.0.0.1');
  await once(storage, 'listening');
  t.after(() => storage.close());
  const address = storage.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    kind: 'bundle',
    sha256: createHash('sha256').update(bytes).digest('hex'),
    commit: gitIn(source, 'rev-parse', 'main').trim(),
    name: 'app',
    url: `http://127.0.0.1:${address.port}/b`,
  } as const;
}

/** Puts contents where a bundle brings them, under the ids that are given. */
function bring(source: string, objects: Readonly<Record<string, string>>): void {
  const run = (input: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: source,
      encoding: 'utf8',
      input,
    }).trim();
  const entries = Object.entries(objects).map(
    ([oid, body]) => `100644 blob ${run(body, 'hash-object', '-w', '--stdin')}\t${oid}\n`,
  );
  run(
    '',
    'update-ref',
    bundledLargeFilesRef,
    run('', 'commit-tree', run(entries.join(''), 'mktree'), '-m', 'l'),
  );
}

test('a bundle without contents: where they are required that is said, with what helps', async (t) => {
  const pointer = server.put(content('bundled'));
  const bundle = await bundleOf(publish({ 'a.bin': pointer }).folder, t);
  await assert.rejects(lay({ ...bundle, lfs: 'required' }), {
    code: 'large_file_missing',
    message: /a\.bin .*the upload does not have it.*git lfs pull.*lfs: available/,
  });
  const { copy, folder } = await lay({ ...bundle, lfs: 'available' });
  assert.match(copy.notices.join(), /a\.bin/);
  assert.equal(readFileSync(join(folder, 'a.bin'), 'utf8'), pointer);
  await copy.discard();
});

test('a bundle brings the contents that it has; its own git server is not asked', async (t) => {
  const pointers = { 'a.bin': server.put(content('brought')), 'b.bin': server.put(content('not brought')) };
  const { folder: source } = publish(pointers);
  bring(source, { [oidOf(pointers['a.bin'])]: content('brought') });
  const bundle = await bundleOf(source, t);
  const before = server.asked.length;
  const { copy, folder } = await lay({ ...bundle, lfs: 'available' });
  assert.equal(readFileSync(join(folder, 'a.bin'), 'utf8'), content('brought'));
  assert.equal(readFileSync(join(folder, 'b.bin'), 'utf8'), pointers['b.bin']);
  assert.match(copy.notices.join(), /^Large files are pointers: b\.bin/);
  assert.deepEqual((await copy.diff()).summary.files, []);
  assert.equal(server.asked.length, before);
  await copy.discard();
});

for (const { what, body, code } of [
  { what: 'other contents of the same size', body: content('wrong'), code: 'digest_mismatch' },
  { what: 'more than the pointer says', body: content('right').repeat(2), code: 'large_file_missing' },
])
  test(`a bundle that brings ${what} is refused, and nothing of it is kept`, async (t) => {
    const pointer = server.put(content('right'));
    const { folder: source } = publish({ 'a.bin': pointer, what });
    bring(source, { [oidOf(pointer)]: body });
    const bundle = await bundleOf(source, t);
    await assert.rejects(lay({ ...bundle, lfs: 'required' }), { code });
    assert.deepEqual(
      globSync(`mirrors/*/lfs/*`, { cwd: join(root, 'state') }).filter((file) =>
        file.includes(oidOf(pointer)),
      ),
      [],
    );
    assert.deepEqual(globSync(`mirrors/*/lfs/bundle*`, { cwd: join(root, 'state') }), []);
  });
