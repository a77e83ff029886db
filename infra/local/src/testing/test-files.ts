import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The tests of the project by the way they are run. Paths are absolute. */
export interface TestFiles {
  /** Pure and fast: all in one process. */
  readonly unit: readonly string[];
  /** On real parts: each file in a process of its own. */
  readonly integration: readonly string[];
}

/**
 * Finds the test files of every workspace. Sample and fixture packages hold tests of their own, in JavaScript, and
 * are not found.
 * @param pattern part of a path from the project root; absent: all
 */
export function findTestFiles(projectRoot: string, ...patterns: readonly string[]): TestFiles {
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    workspaces: string[];
  };
  const files = manifest.workspaces
    .flatMap((workspace) => globSync(`${workspace}/src/**/*.test.ts`, { cwd: projectRoot }))
    .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
    .map((file) => join(projectRoot, file))
    .sort((left, right) => left.localeCompare(right));
  const isIntegration = (file: string) => file.endsWith('.integration.test.ts');
  return { unit: files.filter((file) => !isIntegration(file)), integration: files.filter(isIntegration) };
}

/** Whether a test needs a container engine: it skips with this key where none answers. */
export function needsEngine(file: string): boolean {
  return readFileSync(file, 'utf8').includes('docker-engine:');
}

/** Whether a test needs a real rsyslog: it skips with this key where none can be had. */
export function needsRsyslog(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noRsyslog');
}

/** Whether a test needs a real Ceph: it skips with the key `ceph` where none can be had. */
export function needsCeph(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noCeph');
}

/** Whether a test needs a real LDAP directory: it skips with the key `slapd` where none can be had. */
export function needsSlapd(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noSlapd');
}

/** Whether a test needs a real ssh server: it skips with the key `sshd` where none can be had. */
export function needsSshd(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noSshd');
}

/** Whether a test needs a pseudo-terminal: it skips with the key `tmux` where none can be had. */
export function needsTmux(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noTmux');
}

/** Whether a test needs docker-compose: it skips with this key where none can be had. */
export function needsCompose(file: string): boolean {
  return readFileSync(file, 'utf8').includes('docker-compose:');
}

/** Whether a test needs Prometheus' own tool: it skips with the key `promtool` where none can be had. */
export function needsPromtool(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noPromtool');
}

/** Whether a test needs kubectl: it skips with this key where none can be had. */
export function needsKubectl(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noKubectl');
}

/** Whether a test needs a registry of images: it skips with the key `docker-registry` where none can be had. */
export function needsRegistry(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noRegistry');
}

/** Whether a test needs Debian's PostgreSQL: it skips with the key `debian-postgres` where none can be had. */
export function needsPostgres(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noPostgres');
}

/** Whether a test needs a real PgBouncer: it skips with the key `pgbouncer` where none can be had. */
export function needsPgbouncer(file: string): boolean {
  return readFileSync(file, 'utf8').includes('noPgbouncer');
}

/** Whether a test drives a browser: it skips with this key where none can be had. */
export function needsBrowser(file: string): boolean {
  return readFileSync(file, 'utf8').includes('browser:');
}

/** A path as a person wants to read it. */
export function shownPath(projectRoot: string, file: string | undefined): string {
  return file === undefined ? '(unknown file)' : relative(projectRoot, file);
}
