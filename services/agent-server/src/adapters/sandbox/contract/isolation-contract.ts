import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Sandbox } from '../../../application/ports/sandbox-driver.ts';
import { escapeAttempts } from './escapes.ts';
import type { EscapeAttempt, EscapeTargets } from './escapes/escape-attempt.ts';
import { bash, contractProfile, run, until } from './harness.ts';
import type { ContractSubject } from './harness.ts';

const mark = '7171';

function argvOf({ program, script }: EscapeAttempt): string[] {
  return program === 'bash' ? ['bash', '-c', script] : ['perl', '-e', script];
}

/** What a control runs under: fresh namespaces of root where it would change the host, nobody where root proves nothing. */
const controls = {
  host: [],
  namespaced: ['unshare', '--mount', '--uts', '--ipc', '--pid', '--fork', '--mount-proc'],
  nobody: ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'],
} as const;

/** Runs the attempt where nothing holds it. */
async function control(attempt: EscapeAttempt, targets: EscapeTargets): Promise<string> {
  const [program = '', ...args] = [...controls[attempt.control], ...argvOf(attempt)];
  const env = { PATH: process.env['PATH'] ?? '', LEMNISCATE_HOST_MARK: '1', ...targets };
  // the shell leaves one descriptor open, so that "no descriptor of the host" is seen to be able to fail
  const opened = ['-c', 'exec 9</dev/null; exec "$0" "$@"', program, ...args];
  const ended = await promisify(execFile)('bash', opened, { env, timeout: 20_000 }).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  return ended.stdout;
}

function perlOnHost(script: string, ...args: readonly string[]): Promise<unknown> {
  return promisify(execFile)('perl', ['-e', script, ...args], { timeout: 20_000 });
}

/** Lays out on the host what attempts try to reach; the returned function takes it away. */
async function layOut(): Promise<{ targets: Omit<EscapeTargets, 'NEIGHBOUR'>; close: () => Promise<void> }> {
  const folder = await mkdtemp('/var/tmp/lemniscate-targets-');
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'file'), 'host', { mode: 0o644 });
  const tcp = createServer((socket) => socket.destroy()).listen(0, '0.0.0.0');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4').bind(port, '0.0.0.0');
  const abstract = `lemniscate-${process.pid}`;
  const unix = createServer((socket) => socket.destroy()).listen(`\0${abstract}`);
  const tcp6 = createServer((socket) => socket.destroy()).listen(0, '::1');
  const has6 = await Promise.race([once(tcp6, 'listening'), once(tcp6, 'error')]).then(
    () => tcp6.listening,
    () => false,
  );
  const engine = createServer((socket) => socket.destroy()).listen(join(folder, 'socket'));
  await once(engine, 'listening');
  await chmod(join(folder, 'socket'), 0o777);
  const memory = String(process.pid);
  await perlOnHost('defined shmget($ARGV[0], 4096, 01666) or die', memory);
  const victim = spawn('sleep', [`${mark}0`], { stdio: 'ignore' });
  const inspected = spawn(
    process.execPath,
    ['-e', 'process.stdout.write("up"); setInterval(() => {}, 60_000)'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await once(inspected.stdout, 'data');
  const outward = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal);
  return {
    targets: {
      ADDRESS: outward?.address ?? '127.0.0.1',
      PORT: String(port),
      ABSTRACT: abstract,
      FILE: join(folder, 'file'),
      MARK: mark,
      VICTIM: String(victim.pid),
      INSPECTED: String(inspected.pid),
      SOCKET: join(folder, 'socket'),
      MEMORY: memory,
      PORT6: has6 ? String((tcp6.address() as AddressInfo).port) : '1',
    },
    async close() {
      victim.kill('SIGKILL');
      inspected.kill('SIGKILL');
      await perlOnHost('shmctl(shmget($ARGV[0], 0, 0), 0, 0) or die', memory);
      tcp.close();
      if (has6) tcp6.close();
      engine.close();
      unix.close();
      udp.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Attempts to get out, each first proved able to succeed where nothing holds it. */
export function describeIsolation(subject: ContractSubject): void {
  describe('isolation', () => {
    const driver = subject.create();
    let sandbox: Sandbox;
    let neighbour: Sandbox;
    let stand: Awaited<ReturnType<typeof layOut>>;
    let targets: EscapeTargets;
    let ownUser = false;

    before(async () => {
      process.env['LEMNISCATE_HOST_MARK'] = '1';
      ownUser = (await driver.probe()).separateCommandUser;
      stand = await layOut();
      sandbox = await driver.boot(`sbx_attacker_${process.pid}`, contractProfile(subject));
      neighbour = await driver.boot(`sbx_neighbour_${process.pid}`, contractProfile(subject));
      targets = { ...stand.targets, NEIGHBOUR: neighbour.workspaceFolder };
      await bash(
        neighbour,
        `echo secret > secret; chmod 644 secret; (setsid sleep ${mark}1 >/dev/null 2>&1 &)`,
      );
    });
    after(async () => {
      await sandbox.destroy();
      await neighbour.destroy();
      await stand.close();
    });

    for (const attempt of escapeAttempts) {
      it(attempt.name, async (test) => {
        if (attempt.needsOwnUser === true && !ownUser)
          return test.skip('separate-user: commands share the supervisor’s uid here');
        if (attempt.hostKernel === true && subject.kernel === 'own')
          return test.skip('own-kernel: another kernel answers in place of the host’s');
        if (process.getuid?.() === 0) {
          const answer = await control(attempt, targets);
          const free = /ESCAPED/.test(answer);
          if (!free && attempt.dependsOnKernel === true && /REFUSED/.test(answer))
            return test.skip(
              'kernel-feature: this kernel refuses it to root as well, so nothing would be proved',
            );
          assert.ok(free, `the control must be able to escape, and said ${JSON.stringify(answer)}`);
        }
        // inside, the supervisor takes the place of the host's victims
        const { VICTIM: _victim, INSPECTED: _inspected, ...env } = targets;
        const tried = await run(sandbox, argvOf(attempt), { env });
        assert.equal(tried.cause, 'exited');
        assert.doesNotMatch(tried.stdout, /ESCAPED/);
        await sandbox.ping(5_000);
      });
    }

    it('survives every signal that a command can send', async (test) => {
      if (!ownUser) return test.skip('separate-user: commands share the supervisor’s uid here');
      await bash(sandbox, 'for s in $(seq 1 64); do kill -$s -- -1; kill -$s 1 2; done', {
        timeoutMs: 3_000,
      });
      await until('the supervisor answers', () =>
        sandbox.ping(2_000).then(
          () => true,
          () => false,
        ),
      );
      assert.equal((await bash(sandbox, 'timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/9229"')).exitCode, 1);
    });
  });
}
