import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { bash, contractProfile, run, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** Toolchains of the host that a profile names: readable inside, and nothing beside them. */
export function describeToolchains(subject: ContractSubject): void {
  // Where people have them: beside the system, and in their home, which only they can pass through. An image lets nobody
  // through its /root.
  const isRoot = process.getuid?.() === 0;
  const places = !isRoot ? [homedir()] : subject.profile.image === undefined ? ['/opt', homedir()] : ['/opt'];
  for (const above of places) describeToolchainsBelow(subject, above);
}

function describeToolchainsBelow(subject: ContractSubject, above: string): void {
  describe(`toolchains below ${above}`, () => {
    let root: string;
    let folder: string;
    before(async () => {
      root = await mkdtemp(join(above, 'lemniscate-toolchains-'));
      await chmod(root, 0o755);
      folder = join(root, 'kit');
      await mkdir(join(folder, 'bin'), { recursive: true });
      await writeFile(join(root, 'secret'), 'beside it\n');
      await writeFile(join(folder, 'bin/lemniscate-kit'), '#!/bin/sh\necho "kit in $0"\n', { mode: 0o755 });
      await writeFile(join(folder, 'bin/ls'), '#!/bin/sh\necho "the kit comes first"\n', { mode: 0o755 });
      await symlink(join(root, 'secret'), join(folder, 'link'));
    });
    after(() => rm(root, { recursive: true, force: true }));

    it('are found first, where they are on the host, and cannot be written', () =>
      withSandbox(
        subject,
        subject.create(),
        async (sandbox) => {
          const found = await run(sandbox, ['lemniscate-kit']);
          assert.equal(found.stdout, `kit in ${folder}/bin/lemniscate-kit\n`, found.stderr);
          assert.equal((await bash(sandbox, 'ls')).stdout, 'the kit comes first\n');
          assert.equal((await run(sandbox, ['bash', '-lc', 'ls'])).stdout, 'the kit comes first\n');
          const written = await bash(sandbox, `echo x > ${folder}/bin/lemniscate-kit`);
          assert.notEqual(written.exitCode, 0);
          // what lies on the way to it is no place to write to
          assert.notEqual((await bash(sandbox, `touch ${above}/x`)).exitCode, 0);
          assert.match(written.stderr, /Read-only file system|Permission denied/);
        },
        { toolchains: [folder] },
      ));

    it('show nothing beside them, also through a link in them', () =>
      withSandbox(
        subject,
        subject.create(),
        async (sandbox) => {
          // first that it can be seen at all
          assert.equal((await run(sandbox, ['test', '-e', `${folder}/bin/ls`])).exitCode, 0);
          assert.notEqual((await run(sandbox, ['cat', join(root, 'secret')])).exitCode, 0);
          assert.notEqual((await run(sandbox, ['cat', join(folder, 'link')])).exitCode, 0);
        },
        { toolchains: [folder] },
      ));

    it('that are not there, or that hold a home, are refused before any session', async () => {
      const driver = subject.create();
      const refused = (toolchain: string, message: RegExp) =>
        assert.rejects(driver.fingerprint({ ...contractProfile(subject), toolchains: [toolchain] }), {
          code: 'configuration_invalid',
          message,
        });
      await refused(join(root, 'nowhere'), /nowhere, which is no folder/);
      await refused(join(root, 'secret'), /secret, which is no folder/);
      await refused(homedir(), /holds the home/);
      await driver.fingerprint({ ...contractProfile(subject), toolchains: [folder] });
    });
  });
}
