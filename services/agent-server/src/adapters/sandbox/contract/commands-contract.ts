import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Sandbox } from '../../../application/ports/sandbox-driver.ts';
import { bash, run, until, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** Every variable by which a shell runs code before the command that was judged. */
const carriersOf = (folder: string) => ({
  BASH_ENV: `${folder}/evil`,
  ENV: `${folder}/evil`,
  SHELLOPTS: 'xtrace',
  BASHOPTS: 'dotglob',
  ZDOTDIR: folder,
  'BASH_FUNC_ls%%': '() { echo evil; }',
});

/** Running commands: what every driver's wire and supervisor must do alike. */
export function describeCommands(subject: ContractSubject): void {
  describe('commands', () => {
    const driver = subject.create();
    const on = (use: (sandbox: Sandbox) => Promise<void>) => () => withSandbox(subject, driver, use);

    it(
      'answers a ping and runs a program with its output, its exit code and its working directory',
      on(async (sandbox) => {
        await sandbox.ping(5_000);
        const first = await run(sandbox, ['bash', '-c', 'echo out; echo err >&2; pwd; exit 7']);
        assert.equal(first.stdout, 'out\n/workspace\n');
        assert.equal(first.stderr, 'err\n');
        assert.equal(first.exitCode, 7);
        assert.equal(first.cause, 'exited');
        assert.equal((await run(sandbox, ['pwd'], { cwd: '/tmp' })).stdout, '/tmp\n');
      }),
    );

    it(
      'keeps arguments, input and output byte for byte',
      on(async (sandbox) => {
        const odd = 'a b\n"$(id)" \u{1F600} \\';
        assert.equal(
          Buffer.from((await run(sandbox, ['printf', '%s', odd])).stdout, 'latin1').toString(),
          odd,
        );
        const input = Buffer.alloc(3_000_000, Buffer.from([0, 1, 255, 10]));
        const copied = await run(sandbox, ['cat'], { stdin: input, maxOutputBytes: 4_000_000 });
        assert.ok(Buffer.from(copied.stdout, 'latin1').equals(input));
        assert.equal(
          (await run(sandbox, ['cat', '/dev/stdin'], { stdin: Buffer.from('again') })).stdout,
          'again',
        );
        assert.equal((await bash(sandbox, 'echo e > /dev/stderr')).stderr, 'e\n');
        assert.equal((await run(sandbox, ['cat'])).stdout, '', 'without input it reads an empty one');
      }),
    );

    it(
      'says how a command died and when it could not start',
      on(async (sandbox) => {
        assert.equal((await bash(sandbox, 'kill -TERM $$')).signal, 'SIGTERM');
        const missing = await run(sandbox, ['no-such-program']);
        assert.equal(missing.exitCode, 127);
        assert.match(missing.stderr, /no-such-program: not found/);
        assert.equal((await run(sandbox, ['/etc/passwd'])).exitCode, 126);
        assert.throws(() => sandbox.run({ argv: [], timeoutMs: 1, maxOutputBytes: 1 }), {
          code: 'request_invalid',
        });
      }),
    );

    it(
      'enters a folder that only the command’s user may enter',
      on(async (sandbox) => {
        await bash(sandbox, 'mkdir -m 700 /workspace/closed');
        assert.equal(
          (await run(sandbox, ['pwd'], { cwd: '/workspace/closed' })).stdout,
          '/workspace/closed\n',
        );
      }),
    );

    it(
      'takes the caller’s variables but none that carry code',
      on(async (sandbox) => {
        await bash(sandbox, 'echo "echo evil" > /workspace/evil; cp evil .zshenv');
        const script = 'ls / >/dev/null; ls /etc/passwd; env; shopt dotglob';
        const env = carriersOf('/workspace');
        const seen = await bash(sandbox, script, { env: { GIVEN: 'yes', ...env } });
        assert.match(seen.stdout, /^GIVEN=yes$/m);
        assert.match(seen.stdout, /^dotglob\s+off$/m);
        assert.doesNotMatch(seen.stdout + seen.stderr, /evil|xtrace/);
        for (const name of Object.keys(env))
          assert.ok(!seen.stdout.split('\n').some((line) => line.startsWith(`${name}=`)), name);
      }),
    );

    it('which on the host do run code, so that the above can fail', async () => {
      const folder = await mkdtemp('/var/tmp/lemniscate-carriers-');
      try {
        await writeFile(join(folder, 'evil'), 'echo evil\n');
        const { BASH_ENV, SHELLOPTS, BASHOPTS, ...rest } = carriersOf(folder);
        const on = (env: NodeJS.ProcessEnv) =>
          promisify(execFile)('bash', ['-c', 'ls /; shopt dotglob; true'], {
            env: { PATH: '/usr/bin:/bin', SHLVL: '1', ...env },
          });
        assert.match((await on({ BASH_ENV })).stdout, /^evil$/m);
        assert.match((await on({ SHELLOPTS })).stderr, /^\+ ls \/$/m);
        assert.match((await on({ BASHOPTS })).stdout, /^dotglob\s+on$/m);
        assert.match((await on({ 'BASH_FUNC_ls%%': rest['BASH_FUNC_ls%%'] })).stdout, /^evil$/m);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it(
      'bounds output, counts what it drops, and lets the command end',
      on(async (sandbox) => {
        const flood = await run(sandbox, ['head', '-c', '50000000', '/dev/zero'], {
          maxOutputBytes: 100_000,
        });
        assert.equal(flood.exitCode, 0);
        assert.equal(flood.outputBytes, 100_000);
        assert.equal(flood.stdout.length, 100_000);
        assert.equal(flood.droppedBytes, 49_900_000);
      }),
    );

    it(
      'makes a command wait for a slow reader instead of holding its output',
      on(async (sandbox) => {
        const script = 'head -c 5000000 /dev/zero; touch /workspace/done';
        const execution = sandbox.run({
          argv: ['bash', '-c', script],
          timeoutMs: 20_000,
          maxOutputBytes: 1e7,
        });
        const reader = execution.output[Symbol.asyncIterator]();
        await reader.next();
        for (let round = 0; round < 5; round += 1) await run(sandbox, ['true']);
        assert.ok(
          !existsSync(join(sandbox.workspaceFolder, 'done')),
          '5 MB fit nowhere, so it must be waiting',
        );
        for (let item = await reader.next(); item.done !== true;) item = await reader.next();
        assert.equal((await execution.end).outputBytes, 5_000_000);
      }),
    );

    it(
      'ends a command whose reader left',
      on(async (sandbox) => {
        const argv = ['head', '-c', '5000000', '/dev/zero'];
        const execution = sandbox.run({ argv, timeoutMs: 20_000, maxOutputBytes: 1e7 });
        for await (const _item of execution.output) break;
        assert.equal((await execution.end).exitCode, 0);
      }),
    );

    it(
      'kills the whole group at its timeout, also what went into a session of its own',
      on(async (sandbox) => {
        const late = await bash(sandbox, 'sleep 4241 & setsid sleep 4242 & wait', { timeoutMs: 500 });
        assert.equal(late.cause, 'timeout');
        assert.equal(late.signal, 'SIGKILL');
        await until(
          'both sleeps are gone',
          async () => (await bash(sandbox, 'pgrep -x sleep')).exitCode === 1,
        );
      }),
    );

    it(
      'kills what has forked twice and belongs to PID 1 by then, and spares what an earlier command left',
      on(async (sandbox) => {
        await bash(sandbox, 'setsid nohup sleep 4260 >/dev/null 2>&1 & echo up');
        const daemons = `use POSIX; for my $n (4251, 4252) { if (!fork) { POSIX::setsid(); if (!fork) { exec "sleep", $n } exit } } sleep 30`;
        // beside it another command with an orphan of its own
        const other = bash(sandbox, '(setsid sleep 4270 >/dev/null 2>&1 &); sleep 6; echo over');
        // by a second: what began within one tick of the kernel's clock as a command counts as the command's
        await until('the other one is older', async () => {
          const age = 'pid=$(pgrep -f "^sleep 4270") && test "$(ps -o etimes= -p "$pid")" -ge 1';
          return (await bash(sandbox, age)).exitCode === 0;
        });
        const late = await run(sandbox, ['perl', '-e', daemons], { timeoutMs: 1_000 });
        assert.equal(late.cause, 'timeout');
        const left = await bash(sandbox, 'pgrep -fa "^sleep 42" | cut -d" " -f2- | sort');
        assert.equal(left.stdout, 'sleep 4260\nsleep 4270\n');
        assert.equal((await other).stdout, 'over\n');
      }),
    );

    it(
      'cancels a command, before and after its start',
      on(async (sandbox) => {
        const abort = new AbortController();
        const execution = sandbox.run({
          argv: ['bash', '-c', 'echo go; sleep 4241'],
          timeoutMs: 20_000,
          maxOutputBytes: 100,
          signal: abort.signal,
        });
        for await (const _item of execution.output) abort.abort();
        assert.equal((await execution.end).cause, 'canceled');
        await until('the sleep is gone', async () => (await bash(sandbox, 'pgrep -x sleep')).exitCode === 1);
        const never = await run(sandbox, ['touch', '/workspace/never'], { signal: abort.signal });
        assert.equal(never.cause, 'canceled');
        assert.ok(!existsSync(join(sandbox.workspaceFolder, 'never')));
      }),
    );

    it(
      'stands still with everything that it runs, and goes on; the time in between counts against no command',
      on(async (sandbox) => {
        const counting = (file: string, most: string) =>
          `i=0; while ${most}; do i=$((i+1)); echo $i > ${file}; sleep 0.02; done`;
        const counted = async (file: string) =>
          Number(await readFile(join(sandbox.workspaceFolder, file), 'utf8').catch(() => '0'));
        await bash(sandbox, `(setsid bash -c '${counting('left', 'true')}' >/dev/null 2>&1 &)`);
        // Half of its time for the work, and the host's patience would be over while it stands.
        const timed = bash(sandbox, `${counting('own', '[ $i -lt 40 ]')}; echo done`, { timeoutMs: 3_000 });
        await until('both count', async () => (await counted('own')) > 2 && (await counted('left')) > 2);
        await sandbox.freeze();
        const stood = [await counted('own'), await counted('left')];
        assert.equal((await bash(sandbox, 'sleep 6; echo over')).stdout, 'over\n', 'what starts later runs');
        assert.deepEqual([await counted('own'), await counted('left')], stood);
        await sandbox.thaw();
        const end = await timed;
        assert.deepEqual([end.cause, end.stdout], ['exited', 'done\n']);
        await until(
          'what was left behind counts again',
          async () => (await counted('left')) > (stood[1] ?? 0),
        );
        await sandbox.freeze();
        await sandbox.killCommands();
        assert.equal((await bash(sandbox, 'pgrep -x sleep')).exitCode, 1, 'what stands still can be killed');
      }),
    );

    it(
      'leaves background processes alone until killCommands, which spares the supervisor',
      on(async (sandbox) => {
        const started = await bash(sandbox, 'sleep 4241 & setsid nohup sleep 4242 >/dev/null 2>&1 & echo up');
        assert.equal(started.stdout, 'up\n');
        assert.equal((await bash(sandbox, 'pgrep -cx sleep')).stdout, '2\n');
        await sandbox.killCommands();
        assert.equal((await bash(sandbox, 'pgrep -x sleep')).exitCode, 1);
      }),
    );

    it(
      'runs commands side by side without mixing them up',
      on(async (sandbox) => {
        const many = await Promise.all(
          Array.from({ length: 12 }, (_, index) => bash(sandbox, `sleep 0.1; echo ${index}; exit ${index}`)),
        );
        assert.deepEqual(
          many.map(({ stdout, exitCode }) => [stdout, exitCode]),
          many.map((_, index) => [`${index}\n`, index]),
        );
      }),
    );

    it(
      'shows the host’s workspace folder, in both directions',
      on(async (sandbox) => {
        const { uid, gid } = sandbox.commandUser;
        const path = join(sandbox.workspaceFolder, 'given');
        await writeFile(path, 'from the host');
        if (process.getuid?.() === 0) await chown(path, uid, gid);
        assert.equal(
          (await bash(sandbox, 'cat given; echo back > made; mv given taken')).stdout,
          'from the host',
        );
        assert.deepEqual((await readdir(sandbox.workspaceFolder)).sort(), ['made', 'taken']);
        assert.equal((await bash(sandbox, 'touch ~/x /tmp/x && echo "$HOME"')).stdout, '/home/agent\n');
      }),
    );
  });
}
