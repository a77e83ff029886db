import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { FetchDepth } from '@lemniscate/shared/repository/source.ts';
import type { SandboxDriver } from '../../application/ports/sandbox-driver.ts';
import { createTestAuthority } from '../../testing/certificates.ts';
import type { TestAuthority } from '../../testing/certificates.ts';
import type { LfsServer } from '../../testing/lfs-server.ts';
import { startLfsServer } from '../../testing/lfs-server.ts';
import type { SshServer } from '../../testing/ssh-server.ts';
import { noSshd, startSshServer } from '../../testing/ssh-server.ts';
import { createBubblewrapDriver } from '../sandbox/bubblewrap/driver.ts';
import type { FetchHosts } from './fetch-host.ts';
import { gitIn, openWorkingCopies, ownFolder, sandboxUser } from '../../testing/working-copy-bench.ts';

describe('a repository over ssh', { skip: noSshd }, () => {
  const root = ownFolder('ssh');
  const source = join(root, "it's a repository");
  let authority: TestAuthority;
  let lfs: LfsServer;
  let ssh: SshServer;
  let driver: SandboxDriver;
  const contents = 'large\n'.repeat(2_000);

  const git = (...args: string[]): void => void gitIn(source, ...args);

  before(async () => {
    authority = await createTestAuthority(root);
    lfs = await startLfsServer(root, await authority.issue('git', 'https://git.invalid'));
    // as git hosts have it: lets in whom ssh let in, for this repository alone
    const authenticate = `#!/bin/sh
test "$#" = 2 && test "$1" = '${source.replaceAll("'", `'\\''`)}' && test "$2" = download || { echo "refused: $*" >&2; exit 1; }
echo '{"href":"https://${lfs.host}/info/lfs","header":{"authorization":"for a while"},"expires_in":60}'
`;
    ssh = await startSshServer({ 'git-lfs-authenticate': authenticate });
    mkdirSync(source);
    git('init', '-q', '-b', 'main');
    writeFileSync(join(source, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    writeFileSync(join(source, 'a.bin'), lfs.put(contents));
    git('add', '-A');
    git('commit', '-qm', 'c');
    driver = createBubblewrapDriver({ stateFolder: join(root, 'driver'), serverId: 'ssh' });
  });

  after(async () => {
    await ssh.stop();
    await lfs.close();
    assert.deepEqual(await driver.list(), []);
    rmSync(root, { recursive: true, force: true });
  });

  const lay = async (given: FetchHosts['ssh'], fetch?: FetchDepth) => {
    const id = randomUUID();
    const folder = join(root, `workspace-${id}`);
    mkdirSync(folder);
    const copies = openWorkingCopies({
      stateFolder: join(root, `state-${id}`),
      driver,
      allowLocalPaths: false,
      hosts: {
        privateHosts: ['127.0.0.1', 'localhost'],
        authorityFile: authority.caFile,
        ...(given === undefined ? {} : { ssh: given }),
      },
    });
    const copy = await copies.lay({
      projectId: 'p',
      repository: {
        kind: 'git',
        url: `${ssh.url}${source.split('/').map(encodeURIComponent).join('/')}`,
        ...(fetch === undefined ? {} : { fetch }),
      },
      folder,
      user: sandboxUser,
      signal: AbortSignal.timeout(60_000),
      deadlineMs: 60_000,
    });
    const { summary } = await copy.diff();
    await copy.discard();
    await copies.close();
    return { large: readFileSync(join(folder, 'a.bin'), 'utf8'), changed: summary.files };
  };

  it('is fetched with the server’s key by reference', async () => {
    const { large, changed } = await lay({ key: ssh.key, knownHosts: ssh.knownHosts });
    assert.match(large, /^version /);
    assert.deepEqual(changed, []);
  });

  it('gives its large files to whom ssh lets in', async () => {
    const { large, changed } = await lay({ key: ssh.key, knownHosts: ssh.knownHosts }, { lfs: 'required' });
    assert.equal(large, contents);
    assert.deepEqual(changed, []);
  });

  it('is refused with another key, and by a host that nobody vouches for', async () => {
    const nobody = join(root, 'nobody');
    writeFileSync(nobody, '');
    await assert.rejects(lay({ key: ssh.otherKey, knownHosts: ssh.knownHosts }), {
      code: 'repository_broken',
      message: /Permission denied/,
    });
    await assert.rejects(lay({ key: ssh.key, knownHosts: nobody }), {
      code: 'repository_broken',
      message: /Host key verification failed/,
    });
  });
});
