import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';

const program = '/usr/sbin/sshd';

/** A reason to skip where this machine has no sshd, else false. */
export const noSshd = existsSync(program) ? false : 'sshd: the package openssh-server is not installed';

/** A real ssh server that lets this process' own account in by one key. */
export interface SshServer {
  /** `ssh://account@host:port`, to put a path behind. */
  readonly url: string;
  /** The file of the key that is let in, and of one that is not. */
  readonly key: string;
  readonly otherKey: string;
  /** Names the server's own key. */
  readonly knownHosts: string;
  stop(): Promise<void>;
}

function makeKey(file: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  return file;
}

/** @param programs are found by the commands of whoever logs in: executable texts by their names */
export async function startSshServer(programs: Readonly<Record<string, string>>): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-sshd-'));
  const [hostKey, key, otherKey] = ['host', 'key', 'other'].map((name) => makeKey(join(folder, name)));
  if (hostKey === undefined || key === undefined || otherKey === undefined) throw new Error('no keys');
  mkdirSync(join(folder, 'bin'));
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, 'bin', name), text, { mode: 0o755 });
  const port = await freePort();
  const configuration = join(folder, 'sshd_config');
  writeFileSync(
    configuration,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey}`,
      `AuthorizedKeysFile ${key}.pub`,
      `PidFile ${join(folder, 'pid')}`,
      `SetEnv PATH=${join(folder, 'bin')}:/usr/bin:/bin`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      // the folders above ours are open to all, as those of temporary files are
      'StrictModes no',
      'UsePAM no',
    ].join('\n'),
  );
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const knownHosts = join(folder, 'known_hosts');
  const [kind = '', hostPublic = ''] = readFileSync(`${hostKey}.pub`, 'utf8').split(' ');
  writeFileSync(knownHosts, `127.0.0.1 ${kind} ${hostPublic}\n`);
  const child = spawn(program, ['-D', '-e', '-f', configuration], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-2000);
  });
  const exited = once(child, 'exit');
  await untilOpen(port, () => {
    if (child.exitCode !== null) throw new Error(`sshd ended: ${said}`);
  });
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    key,
    otherKey,
    knownHosts,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilOpen(port: number, check: () => void): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    check();
    const socket = connect(port, '127.0.0.1');
    const opened = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (opened) return;
    if (performance.now() > deadline) throw new Error('sshd does not answer');
  }
}
