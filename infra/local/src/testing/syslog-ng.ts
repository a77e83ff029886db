import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { findProgram } from '../packages.ts';

/** Debian's packages of it, as far as other programs do not bring them. */
const packages = ['syslog-ng-core', 'libivykis0', 'libnet1', 'libwrap0', 'libjson-c5'];

/**
 * Debian's syslog-ng, unpacked beside the system and not installed: the package is in conflict with rsyslog, and the
 * tests want both. Unpacked once a machine.
 * @returns the folder that it is unpacked in
 * @throws CodedError `package_missing`
 */
export function unpackSyslogNg(say: (line: string) => void): string {
  const root = join(tmpdir(), `lemniscate-syslog-ng-${process.getuid?.() ?? 0}`);
  if (existsSync(join(root, 'usr/sbin/syslog-ng'))) return root;
  if (findProgram('apt-get') === undefined || findProgram('dpkg-deb') === undefined)
    throw missing('there is no apt-get');
  say(`unpacking ${packages.join(', ')} (apt-get download)`);
  const draft = `${root}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    run('apt-get', ['download', '-qq', ...packages], draft);
    for (const file of readdirSync(draft).filter((name) => name.endsWith('.deb')))
      run('dpkg-deb', ['-x', file, '.'], draft);
    if (!existsSync(root)) renameSync(draft, root);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return root;
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 300_000 });
  if (status !== 0) throw missing(`${program}: ${stderr.slice(0, 300)}`);
}

function missing(why: string): CodedError {
  return new CodedError('package_missing', `Debian's syslog-ng cannot be unpacked (${why}).`, { packages });
}
