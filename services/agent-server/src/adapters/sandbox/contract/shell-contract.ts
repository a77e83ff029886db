import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { bash, run, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** What shells of all kinds look for at home. */
const startupFiles = [
  '.bash_profile',
  '.bash_login',
  '.profile',
  '.bashrc',
  '.zshenv',
  '.zprofile',
  '.zshrc',
];
const say = 'echo "home $HOME"';

/** Every way to ask a shell for its startup files; each must run its script and nothing before it. */
const shells: readonly (readonly string[])[] = [
  ['bash', '-lc', say],
  ['bash', '--login', '-c', say],
  ['bash', '--posix', '-lc', say],
  ['bash', '-ic', say],
  ['bash', '-l', '-i', '-c', say],
  ['bash', '-uelc', say],
  ['sh', '-lc', say],
  ['bash', '-c', `exec -a -bash bash -c '${say}'`],
];

/** No shell runs what an earlier command has left in the home. */
export function describeShells(subject: ContractSubject): void {
  describe('shells', () => {
    it('start without a profile, however they are asked', () =>
      withSandbox(subject, subject.create(), async (sandbox) => {
        await bash(sandbox, `for f in ${startupFiles.join(' ')}; do echo "echo EVIL $f" > ~/$f; done`);
        for (const argv of shells) {
          const { stdout, exitCode } = await run(sandbox, argv);
          assert.equal(stdout, 'home /home/agent\n', argv.join(' '));
          assert.equal(exitCode, 0);
        }
        const clean = await run(sandbox, ['bash', '-lc', 'env']);
        assert.match(clean.stdout, /^HOME=\/home\/agent$/m);
        assert.doesNotMatch(clean.stdout, /lemniscate_home/);
      }));

    it('that read a connection do not take themselves for a remote login', () =>
      withSandbox(subject, subject.create(), async (sandbox) => {
        await bash(sandbox, 'echo "echo EVIL" > ~/.bashrc');
        const input = new PassThrough();
        // its pipe is a socket, as those of every program that Node starts
        const execution = sandbox.run({
          argv: ['bash', '-c', 'cat; echo script'],
          input,
          timeoutMs: 20_000,
          maxOutputBytes: 10_000,
        });
        input.end();
        let text = '';
        for await (const { bytes } of execution.output) text += Buffer.from(bytes).toString();
        assert.equal(text, 'script\n');
      }));

    it('on the host do run such files, so that the above can fail', async () => {
      const home = await mkdtemp('/var/tmp/lemniscate-home-');
      try {
        for (const name of startupFiles) await writeFile(join(home, name), `echo EVIL ${name}\n`);
        const env = { PATH: process.env['PATH'] ?? '', HOME: home };
        const login = await promisify(execFile)('bash', ['-lc', say], { env });
        assert.match(login.stdout, /EVIL \.bash_profile/);
        // standard input is a socket: bash thinks of rshd
        const remote = promisify(execFile)('bash', ['-c', say], { env });
        remote.child.stdin?.end();
        assert.match((await remote).stdout, /EVIL \.bashrc/);
      } finally {
        await rm(home, { recursive: true });
      }
    });
  });
}
