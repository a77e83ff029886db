import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bash, contractProfile, run, until, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** Whether any process of this host has that command line. */
function isRunning(commandLine: string): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').startsWith(commandLine);
    } catch {
      return false; // gone since it was listed
    }
  });
}

/** Birth and end: nothing is left, whoever ended it. */
export function describeLife(subject: ContractSubject): void {
  describe('life', () => {
    after(async () => {
      assert.deepEqual(await subject.create().recover(), [], 'a test has left a sandbox');
      assert.ok(!readFileSync('/proc/self/mountinfo', 'utf8').includes(subject.parentArguments[1] ?? ''));
    });

    it('lists what lives, and destroys it for good, twice', async () => {
      const driver = subject.create();
      const sandbox = await driver.boot('sbx_life', contractProfile(subject));
      await bash(sandbox, 'mkdir -p a/b && chmod 000 a && sleep 4241 & disown');
      assert.ok((await driver.list()).includes('sbx_life'));
      await sandbox.destroy();
      await sandbox.destroy();
      assert.equal(await sandbox.ended, 'destroyed');
      assert.deepEqual(await driver.list(), []);
      assert.ok(!existsSync(sandbox.workspaceFolder));
      assert.equal((await run(sandbox, ['true'])).cause, 'sandbox_lost');
      await assert.rejects(sandbox.ping(1_000), { code: 'sandbox_lost' });
    });

    it('shows a tree of the host that is laid while it runs, and never writes into it', async (test) => {
      const driver = subject.create();
      const tree = await mkdtemp('/var/tmp/lemniscate-tree-');
      await mkdir(join(tree, 'folder'));
      await writeFile(join(tree, 'folder', 'file'), 'first');
      await writeFile(join(tree, 'doomed'), 'here');
      try {
        await withSandbox(subject, driver, async (sandbox) => {
          if (sandbox.layTree === undefined)
            return test.skip('laid-trees: this driver and machine copy files instead');
          const { uid, gid } = sandbox.commandUser;
          for (const path of ['folder/file', 'folder', 'doomed', '.'])
            await chown(join(tree, path), uid, gid);
          await sandbox.layTree(tree);
          const script =
            'cat folder/file; echo second > folder/file; rm doomed; mv folder moved; echo new > new; ls';
          assert.equal((await bash(sandbox, script)).stdout, 'firstmoved\nnew\n');
          assert.equal(await readFile(join(sandbox.workspaceFolder, 'moved/file'), 'utf8'), 'second\n');
          const options = await bash(sandbox, 'cat /proc/self/mountinfo');
          if (subject.kernel === 'host' && sandbox.driver === 'bubblewrap')
            assert.ok(!options.stdout.includes(tree) && !options.stdout.includes(sandbox.workspaceFolder));
          assert.equal((await bash(sandbox, 'head -c 300000000 /dev/zero > full')).cause, 'sandbox_lost');
          assert.equal(await sandbox.ended, 'sandbox_disk');
        });
        assert.deepEqual((await readdir(tree)).sort(), ['doomed', 'folder']);
        assert.equal(await readFile(join(tree, 'folder/file'), 'utf8'), 'first');
      } finally {
        await rm(tree, { recursive: true });
      }
    });

    it('keeps the workspace when asked, and gives it up later', async () => {
      const driver = subject.create();
      const sandbox = await driver.boot('sbx_kept', contractProfile(subject));
      await bash(sandbox, 'echo work > result');
      await sandbox.destroy({ keepWorkspace: true });
      assert.deepEqual(await driver.list(), []);
      assert.deepEqual(await readdir(sandbox.workspaceFolder), ['result']);
      assert.deepEqual(await driver.recover(), [], 'its diff may still be made');
      await sandbox.destroy();
      assert.ok(!existsSync(sandbox.workspaceFolder));
    });

    it('removes a kept workspace whose server is gone', async () => {
      const sandbox = await subject.create().boot('sbx_widowed', contractProfile(subject));
      await sandbox.destroy({ keepWorkspace: true });
      assert.deepEqual(await subject.create().recover(), ['sbx_widowed']);
      assert.ok(!existsSync(sandbox.workspaceFolder));
      await sandbox.destroy();
    });

    it('refuses what cannot work, and leaves nothing half-made', async () => {
      const driver = subject.create();
      const profile = contractProfile(subject);
      await assert.rejects(driver.boot('../escape', profile), { code: 'sandbox_start_failed' });
      await assert.rejects(
        driver.boot('sbx_tight', { ...profile, tmpBytes: profile.memoryBytes }),
        /tmpBytes/,
      );
      assert.deepEqual(await driver.list(), []);
    });

    it('recovers what a killed server left, and not what lives', async () => {
      const script = fileURLToPath(new URL('parent-to-kill.ts', import.meta.url));
      const profile = JSON.stringify(contractProfile(subject));
      const parent = spawn(process.execPath, [script, ...subject.parentArguments, profile], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        for await (const _line of parent.stdout) break;
      } finally {
        parent.kill('SIGKILL');
      }
      const driver = subject.create();
      await until(
        'the orphan’s processes have died with their server',
        () => !isRunning('sleep\u00004243'),
        30_000,
      );
      assert.deepEqual(await driver.list(), ['sbx_orphan']);
      await withSandbox(subject, driver, async (living) => {
        assert.deepEqual(await driver.recover(), ['sbx_orphan']);
        await living.ping(5_000);
        assert.deepEqual(await driver.list(), [living.id]);
      });
      assert.deepEqual(await driver.recover(), []);
    });

    it('runs one program in a throwaway sandbox with its own mounts', async () => {
      const driver = subject.create();
      await withSandbox(subject, driver, async (sandbox) => {
        await bash(sandbox, 'echo content > file');
        const user = sandbox.commandUser;
        const mount = { source: sandbox.workspaceFolder, target: '/data', readOnly: true };
        const common = { mounts: [mount], cwd: '/data', user, timeoutMs: 20_000, maxOutputBytes: 1_000 };
        const read = await driver.runThrowaway({
          ...common,
          argv: ['bash', '-c', 'cat file -; touch x 2>/dev/null || echo read-only; echo "$V" >&2; exit 3'],
          env: { V: 'variable' },
          stdin: Buffer.from('input\n'),
        });
        assert.equal(read.stdout.toString(), 'content\ninput\nread-only\n');
        assert.equal(read.stderr.trim(), 'variable');
        assert.equal(read.exitCode, 3);
        const write = await driver.runThrowaway({
          ...common,
          mounts: [{ ...mount, readOnly: false }],
          argv: ['bash', '-c', 'cp file copy; id -u'],
        });
        assert.equal(write.exitCode, 0);
        assert.ok(existsSync(join(sandbox.workspaceFolder, 'copy')));
        const slow = await driver.runThrowaway({ ...common, argv: ['sleep', '4244'], timeoutMs: 700 });
        assert.equal(slow.timedOut, true);
        const loud = await driver.runThrowaway({ ...common, argv: ['cat', '/dev/zero'] });
        assert.equal(loud.truncated, true);
        assert.ok(loud.stdout.length <= 1_000);
        assert.deepEqual(await driver.list(), [sandbox.id]);
      });
    });
  });
}
