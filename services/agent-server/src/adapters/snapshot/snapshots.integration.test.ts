import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { SnapshotFolders } from '../../application/ports/snapshots.ts';
import { sandboxDrivers } from '../sandbox/registry.ts';
import { createSnapshots } from './snapshots.ts';

const never = new AbortController().signal;
const root = process.getuid?.() === 0;
const user = root
  ? { uid: 10_001, gid: 10_001 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

function stage(t: TestContext) {
  const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-snapshot-'));
  chmodSync(scratch, 0o711);
  t.after(() => execFileSync('sh', ['-c', `chmod -R u+rwX "$1"; rm -rf "$1"`, 'sh', scratch]));
  const driver = sandboxDrivers.bubblewrap({ stateFolder: join(scratch, 'state'), serverId: 'snapshots' });
  const pair = (name: string): SnapshotFolders => {
    const folders = { workspace: join(scratch, name, 'workspace'), home: join(scratch, name, 'home') };
    for (const folder of Object.values(folders)) {
      mkdirSync(folder, { recursive: true });
      if (root) chownSync(folder, user.uid, user.gid);
    }
    return { ...folders, user };
  };
  return { scratch, driver, pair, snapshots: createSnapshots({ folder: join(scratch, 'spool'), driver }) };
}

/** Runs a script in the folder as the commands' user. */
function asAgent(folder: string, script: string): void {
  const argv = root
    ? ['setpriv', '--reuid', '10001', '--regid', '10001', '--clear-groups', 'bash', '-c', script]
    : ['bash', '-c', script];
  execFileSync(argv[0] ?? '', argv.slice(1), { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Everything about a tree that must survive: kind, mode, links, size, blocks' presence, time, target, content. */
function describeTree(folder: string): string {
  const listing = execFileSync(
    'bash',
    [
      '-c',
      `find . -printf '%y %m %n %s %T@ %l %P\\0' | sort -z | tr '\\0' '\\n';
       find . -type f -print0 | sort -z | xargs -0 -r sha256sum;
       getfattr -R -h -d -m user . 2>/dev/null | sort || true`,
    ],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
  );
  return listing.toString('utf8').replaceAll(/^d (\d+) (\d+) \d+ /gm, 'd $1 $2 - ');
}

const everything = `
  mkdir -p src/deep empty locked/inner sticky; chmod 1777 sticky; chmod 2750 src
  printf 'one\\n' > src/a; ln src/a src/deep/same; ln src/a hard
  ln -s /etc/passwd absolute; ln -s ../nowhere dangling; ln -s src/a link
  printf x > exec; chmod 751 exec; printf s > setuid; chmod 4755 setuid
  truncate -s 64M sparse; printf end >> sparse; printf head | dd of=sparse conv=notrunc status=none
  mkfifo pipe; printf '' > nothing; printf n > $'new\\nline'; printf l > $'latin\\xe9'; printf q > "-dash'"
  printf secret > locked/inner/f; touch -d '2001-02-03 04:05:06.123456789Z' src/a exec locked/inner
  printf none > unreadable; chmod 000 unreadable; chmod 300 locked/inner; chmod 000 locked
  setfattr -n user.note -v kept exec 2>/dev/null || true
  touch -h -d '2005-05-05 05:05:05.5Z' link; touch -d '1999-01-01 00:00:00.25Z' empty`;

test('what is unpacked is what was packed, and again, byte for byte', async (t) => {
  const { snapshots, pair } = stage(t);
  let from = pair('first');
  asAgent(from.workspace, everything);
  asAgent(from.home, `mkdir -p .cache/x; printf h > .cache/x/y; chmod 700 .cache`);
  const expected = { workspace: describeTree(from.workspace), home: describeTree(from.home) };
  const digests: string[] = [];
  for (const name of ['second', 'third']) {
    const packed = await snapshots.pack(from, never);
    assert.deepEqual(describeTree(from.workspace), expected.workspace, 'packing changes nothing');
    digests.push(packed.sha256, packed.workspaceDigest, packed.homeDigest);
    const to = pair(name);
    await snapshots.unpack(packed.file, to, never);
    await packed.discard();
    assert.deepEqual(describeTree(to.workspace), expected.workspace);
    assert.deepEqual(describeTree(to.home), expected.home);
    const { blocks } = statSync(join(to.workspace, 'sparse'));
    assert.ok(blocks * 512 < 1024 * 1024, 'the hole is still one');
    assert.equal(statSync(join(to.workspace, 'hard')).ino, statSync(join(to.workspace, 'src/deep/same')).ino);
    if (root) assert.equal(statSync(join(to.workspace, 'exec')).uid, user.uid);
    from = to;
  }
  assert.deepEqual(digests.slice(0, 3), digests.slice(3), 'the same trees are the same bytes');
});

test('a damaged archive is unreadable, not half a workspace that is taken for a whole one', async (t) => {
  const { snapshots, pair } = stage(t);
  const from = pair('from');
  asAgent(from.workspace, 'head -c 300000 /dev/urandom > noise');
  const packed = await snapshots.pack(from, never);
  truncateSync(packed.file, packed.bytes - 1000);
  await assert.rejects(snapshots.unpack(packed.file, pair('to'), never), { code: 'checkpoint_unreadable' });
  writeFileSync(packed.file, 'no archive at all');
  await assert.rejects(snapshots.unpack(packed.file, pair('other'), never), {
    code: 'checkpoint_unreadable',
  });
});

test('a link that was there before cannot lead the unpacking out', async (t) => {
  const { snapshots, pair, scratch } = stage(t);
  const outside = join(scratch, 'outside');
  mkdirSync(outside, { mode: 0o777 });
  chmodSync(outside, 0o777);
  const from = pair('from');
  asAgent(from.workspace, 'mkdir way; printf evil > way/file');
  const packed = await snapshots.pack(from, never);
  const to = pair('to');
  asAgent(to.workspace, `ln -s ${outside} way`);
  await snapshots.unpack(packed.file, to, never).catch(() => undefined);
  assert.throws(() => readFileSync(join(outside, 'file')), { code: 'ENOENT' });
  // It can fail: the same bytes unpacked on the host, with the same link, do land outside.
  const host = join(scratch, 'host');
  mkdirSync(host);
  execFileSync(
    'sh',
    [
      '-c',
      `mkdir workspace; ln -s ${outside} workspace/way; zstd -qdc "$1" | tar -xi --keep-directory-symlink`,
      'sh',
      packed.file,
    ],
    {
      cwd: host,
    },
  );
  assert.equal(readFileSync(join(outside, 'file'), 'utf8'), 'evil');
});

test('a download is verified to the byte', async (t) => {
  const { snapshots } = stage(t);
  const spooled = await snapshots.spool(Buffer.from('the right bytes'));
  const bodies: Record<string, string> = {
    '/right': 'the right bytes',
    '/wrong': 'the wrong bytes',
    '/long': 'the right bytes and more',
  };
  const server = createServer((request, response) => {
    const body = bodies[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const object = (path: string) => ({
    url: `http://127.0.0.1:${port}${path}`,
    sha256: spooled.sha256,
    bytes: spooled.bytes,
  });
  const file = await snapshots.download(object('/right'), never);
  assert.equal(readFileSync(file.file, 'utf8'), 'the right bytes');
  await file.discard();
  for (const path of ['/wrong', '/long'])
    await assert.rejects(snapshots.download(object(path), never), { code: 'digest_mismatch' });
  await assert.rejects(snapshots.download(object('/missing'), never), { code: 'storage_failed' });
  await spooled.discard();
  rmSync(spooled.file, { force: true });
});
