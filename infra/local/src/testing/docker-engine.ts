import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DataFolder } from '../data-folder.ts';
import { findProgram, programs, requirePrograms } from '../packages.ts';
import { startProcess } from '../process/managed-process.ts';

/** The container engine that tests use. */
export interface DockerEngine {
  /** Value of DOCKER_HOST. */
  readonly host: string;
  stop(): Promise<void>;
}

const systemSocket = '/var/run/docker.sock';

/**
 * Finds the engine that DOCKER_HOST names or that the machine runs; else installs Debian's and starts one of our
 * own. Its data stays in the data folder, so that images need not be made again.
 * @returns the engine, or why there is none
 */
export async function findDockerEngine(
  data: DataFolder,
  environment: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<DockerEngine | { readonly missing: string }> {
  const stop = async () => undefined;
  if (environment['DOCKER_HOST']) return { host: environment['DOCKER_HOST'], stop };
  if (await answers(systemSocket)) return { host: `unix://${systemSocket}`, stop };
  if (process.getuid?.() !== 0) return { missing: 'no engine answers, and only root can start one' };
  try {
    requirePrograms([programs.dockerEngine, programs.debootstrap], say);
    return await startEngine(data, installRunsc(say));
  } catch (error) {
    if (isCodedError(error, 'package_missing') || isCodedError(error, 'service_unreachable'))
      return { missing: error.message };
    throw error;
  }
}

/** Path of gVisor's runtime; without its package the tests that want it are skipped. */
function installRunsc(say: (line: string) => void): string | undefined {
  try {
    requirePrograms([programs.runsc], say);
  } catch (error) {
    if (!isCodedError(error, 'package_missing')) throw error;
    say('no runsc among the packages of this machine');
  }
  return findProgram(programs.runsc.program);
}

/** No bridge and no firewall rules: sandboxes have no network, and the machine's rules stay as they are. */
async function startEngine(data: DataFolder, runsc: string | undefined): Promise<DockerEngine> {
  const dataRoot = data.folder('test-docker', 0o711);
  // sockets lie here: their paths have room for 108 bytes
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-docker-'));
  const socket = join(folder, 'docker.sock');
  const configuration = join(folder, 'daemon.json');
  writeFileSync(configuration, JSON.stringify({ runtimes: runtimesWith(runsc) }));
  const removeFolder = (): void => {
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const engine = await startProcess({
      name: 'dockerd',
      command: findProgram('dockerd') ?? 'dockerd',
      args: [
        `--config-file=${configuration}`,
        `--host=unix://${socket}`,
        `--data-root=${dataRoot}`,
        `--exec-root=${join(folder, 'exec')}`,
        `--pidfile=${join(folder, 'docker.pid')}`,
        '--iptables=false',
        '--ip6tables=false',
        '--bridge=none',
      ],
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      cwd: folder,
      logFile: join(data.folder('logs'), 'dockerd.log'),
      records: folder,
      stopSignal: 'SIGTERM',
      deathSignal: 'TERM',
      stopGraceMs: 20_000,
      ready: { probe: () => answers(socket) },
      readyWithinMs: 40_000,
    });
    return { host: `unix://${socket}`, stop: () => engine.stop().finally(removeFolder) };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

/** The engine leaves the network namespace of containers in the machine's network mounted when it ends. */
function unmountBelow(folder: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounted.toReversed()) execFileSync('umount', [path], { timeout: 10_000 });
}

/** ptrace is the platform that works without KVM; containers without a network need none of gVisor's. */
function runtimesWith(runsc: string | undefined): Record<string, unknown> {
  if (runsc === undefined) return {};
  return { runsc: { path: runsc, runtimeArgs: ['--network=none', '--platform=ptrace'] } };
}

/** Whether an engine answers `/_ping` on a socket. */
function answers(socketPath: string): Promise<boolean> {
  if (!existsSync(socketPath)) return Promise.resolve(false);
  return new Promise((settle) => {
    const asking = request({ socketPath, path: '/_ping', timeout: 2_000 }, (answer) => {
      answer.resume();
      settle(answer.statusCode === 200);
    });
    asking.once('timeout', () => asking.destroy());
    // refused or cut: nobody serves there
    asking.once('error', () => settle(false));
    asking.end();
  });
}
