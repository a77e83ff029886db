import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** A program that a local fleet needs, and the Debian package that brings it. */
export interface Program {
  readonly program: string;
  readonly package: string;
}

/** What each embedded part asks for. */
export const programs = {
  redis: { program: 'redis-server', package: 'redis-server' },
  bubblewrap: { program: 'bwrap', package: 'bubblewrap' },
  /** Makes the disk of each sandbox. */
  mkfs: { program: 'mkfs.ext4', package: 'e2fsprogs' },
  git: { program: 'git', package: 'git' },
  zstd: { program: 'zstd', package: 'zstd' },
  tar: { program: 'tar', package: 'tar' },
  setpriv: { program: 'setpriv', package: 'util-linux' },
  dockerEngine: { program: 'dockerd', package: 'docker.io' },
  dockerCompose: { program: 'docker-compose', package: 'docker-compose' },
  /** Makes the image of docker sandboxes. */
  debootstrap: { program: 'debootstrap', package: 'debootstrap' },
  /** A real receiver for the audit exporter's tests; the TLS driver brings rsyslog itself. */
  rsyslog: { program: 'rsyslogd', package: 'rsyslog-openssl' },
  /** A real LDAP directory for the tests of group look-up. */
  /** A real pseudo-terminal for the terminal's tests. */
  tmux: { program: 'tmux', package: 'tmux' },
  /** A real server for repositories over ssh. */
  sshd: { program: 'sshd', package: 'openssh-server' },
  slapd: { program: 'slapd', package: 'slapd' },
  /** A real pooler for the dispatcher's test behind one. */
  pgbouncer: { program: 'pgbouncer', package: 'pgbouncer' },
  /** A PostgreSQL with its programs for backups, which the embedded one lacks. */
  postgres: { program: 'pg_createcluster', package: 'postgresql' },
  /** Prometheus' own check of rules. */
  promtool: { program: 'promtool', package: 'prometheus' },
  /** A real browser for the console's tests. */
  chromium: { program: 'chromium', package: 'chromium' },
  /** gVisor: the docker driver's tests run on it as well. */
  runsc: { program: 'runsc', package: 'runsc' },
} as const satisfies Readonly<Record<string, Program>>;

const folders = () => [
  ...(process.env['PATH'] ?? '').split(delimiter),
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
];

/** Absolute path of a program, or undefined when this machine has none. */
export function findProgram(program: string): string | undefined {
  return folders()
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * Makes sure that the programs are there, installing what is missing with apt-get as root or through `sudo -n`.
 * @returns the packages that were installed
 * @throws CodedError `package_missing` with the one command to run where we may not or cannot
 */
export function requirePrograms(
  wanted: readonly Program[],
  say: (line: string) => void = () => undefined,
): string[] {
  const missing = wanted.filter(({ program }) => findProgram(program) === undefined);
  if (missing.length === 0) return [];
  const packages = [...new Set(missing.map((entry) => entry.package))];
  const command = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  const names = missing.map(({ program }) => program).join(', ');
  const elevate = elevation();
  if (elevate === undefined || findProgram('apt-get') === undefined)
    throw new CodedError(
      'package_missing',
      `This machine has no ${names}, and this user may not install packages. Run once: sudo sh -c '${command}'`,
      { packages },
    );
  say(`installing ${packages.join(', ')} (apt-get)`);
  installQuietly(elevate, packages);
  const still = missing.filter(({ program }) => findProgram(program) === undefined);
  if (still.length === 0) return packages;
  throw new CodedError(
    'package_missing',
    `apt-get did not bring ${still.map(({ program }) => program).join(', ')}. Run once and read what it says: sudo sh -c '${command}'`,
    { packages },
  );
}

/** The words before a command that make it root's; undefined where that takes a password or is not allowed. */
function elevation(): readonly string[] | undefined {
  if (process.getuid?.() === 0) return [];
  if (findProgram('sudo') === undefined) return undefined;
  return spawnSync('sudo', ['-n', 'true'], { timeout: 10_000 }).status === 0 ? ['sudo', '-n'] : undefined;
}

/** Services of packages that Debian starts, and enables for the next boot; ours are processes of our own. */
const debianServices: Readonly<Record<string, string>> = {
  'redis-server': 'redis-server',
  'docker.io': 'docker',
  'rsyslog-openssl': 'rsyslog',
  slapd: 'slapd',
  'openssh-server': 'ssh',
  postgresql: 'postgresql',
  prometheus: 'prometheus',
  pgbouncer: 'pgbouncer',
};
const policyFile = '/usr/sbin/policy-rc.d';

/**
 * Installs without letting Debian start a service (policy-rc.d answers 101, "not allowed", while we install) and
 * disables for later boots what has been installed here. A service that was there before is not touched.
 */
function installQuietly(elevate: readonly string[], packages: readonly string[]): void {
  const run = (args: readonly string[]) => {
    const [program = '', ...rest] = [...elevate, ...args];
    return spawnSync(program, rest, {
      encoding: 'utf8',
      timeout: 600_000,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  };
  const install = ['apt-get', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends'];
  const policyIsOurs = process.getuid?.() === 0 && !existsSync(policyFile);
  if (policyIsOurs) writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    // a machine that has its package lists is spared the update
    const first = run([...install, ...packages]);
    if (first.status === 0) return;
    const update = run(['apt-get', 'update']);
    const second = run([...install, ...packages]);
    if (second.status === 0) return;
    throw new CodedError(
      'package_missing',
      `apt-get could not install ${packages.join(', ')}:\n${lastLines(update.stderr)}\n${lastLines(second.stderr)}`,
      { packages },
    );
  } finally {
    if (policyIsOurs) rmSync(policyFile, { force: true });
    for (const name of packages.flatMap((entry) => debianServices[entry] ?? []))
      run(['update-rc.d', name, 'disable']);
  }
}

function lastLines(text: string | null): string {
  return (text ?? '').trim().split('\n').slice(-6).join('\n');
}
