import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { prepareCliMounts } from '../cli-bundle.ts';
import type { CliMounts } from '../cli-bundle.ts';
import { openDisks } from '../disk/sandbox-disk.ts';
import type { SandboxDisks } from '../disk/sandbox-disk.ts';
import { openCgroups } from '../kernel/cgroup.ts';
import type { Cgroups } from '../kernel/cgroup.ts';
import { readOwnerMark } from '../owner-mark.ts';
import { filterProgram } from '../seccomp/filter-program.ts';
import { prepareSupervisor } from '../supervisor/prepare.ts';
import type { SupervisorFiles } from '../supervisor/prepare.ts';
import { prepareRootEtc } from './root-etc.ts';
import { createUserNamespaces } from './user-namespaces.ts';
import type { UserNamespaces } from './user-namespaces.ts';
import { sandboxIdMaps } from './users.ts';

/** What all bubblewrap sandboxes of one server share. */
export interface Workplace {
  readonly bwrap: string;
  readonly root: boolean;
  readonly files: SupervisorFiles;
  /** What sandboxes show of the command-line agents. */
  readonly cliMounts: CliMounts;
  readonly etcFolder: string;
  readonly seccompFile: string;
  readonly cgroups: Cgroups | null;
  /** Null where the disk of a sandbox cannot be bounded. */
  readonly disks: SandboxDisks | null;
  /** Of the sandboxes; null without root's rights. */
  readonly namespaces: UserNamespaces | null;
  /** Of throwaway runs, by `uid:gid`. */
  readonly throwawayNamespaces: Map<string, Promise<UserNamespaces>>;
  /** Ids of throwaway runs under way. */
  readonly running: Set<string>;
  /** Where the sandboxes' own folders are. */
  readonly sandboxes: string;
}

function missing(message: string, cause?: unknown): CodedError {
  return new CodedError('sandbox_driver_missing', message, { driver: 'bubblewrap' }, cause);
}

/** @throws CodedError `sandbox_driver_missing` */
function findBwrap(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).concat('/usr/bin', '/usr/local/bin');
  const found = folders.map((folder) => join(folder, 'bwrap')).find((path) => existsSync(path));
  if (found === undefined)
    throw missing(
      'bubblewrap is not installed: run `apt-get install bubblewrap` (any other package manager has it too).',
    );
  return found;
}

function noNamespaces(cause: unknown): never {
  throw missing(
    'User namespaces cannot be made here: allow them (sysctl user.max_user_namespaces), install util-linux, or give the container that this runs in the right to.',
    cause,
  );
}

/**
 * Prepares the state folder: programs, /etc, filter. Runs once a server; all of it may be done again.
 * @throws CodedError `sandbox_driver_missing`
 */
export async function prepareWorkplace(stateFolder: string, serverId: string): Promise<Workplace> {
  if (process.platform !== 'linux') throw missing('bubblewrap needs Linux; use the docker driver here.');
  const { arch } = process;
  if (arch !== 'x64' && arch !== 'arm64')
    throw missing(`There is no system call filter for ${arch}; x64 and arm64 have one.`);
  const bwrap = findBwrap();
  const root = process.getuid?.() === 0;
  const shared = join(stateFolder, 'bubblewrap');
  const sandboxes = join(shared, serverId);
  mkdirSync(stateFolder, { recursive: true });
  for (const folder of [shared, sandboxes]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700); // whatever the umask says
  }
  const etcFolder = join(stateFolder, 'bubblewrap-etc');
  await prepareRootEtc(etcFolder);
  chmodSync(etcFolder, 0o755);
  const seccompFile = join(stateFolder, `seccomp-${arch}.bpf`);
  writeFileSync(seccompFile, filterProgram(arch));
  const programs = join(stateFolder, 'programs');
  const files = await prepareSupervisor(programs);
  const cliMounts = await prepareCliMounts(programs);
  await promisify(execFile)(bwrap, ['--version'], { timeout: 10_000 }).catch((error: unknown) => {
    throw missing(`${bwrap} does not run; reinstall bubblewrap.`, error);
  });
  return {
    bwrap,
    root,
    files,
    cliMounts,
    etcFolder,
    seccompFile,
    sandboxes,
    disks: (await openDisks(join(stateFolder, 'disks'))).disks,
    cgroups: openCgroups(readOwnerMark(stateFolder, serverId)),
    namespaces: root ? await createUserNamespaces(sandboxIdMaps, sandboxIdMaps).catch(noNamespaces) : null,
    throwawayNamespaces: new Map(),
    running: new Set(),
  };
}
