import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { findProgram } from '../packages.ts';

/** Debian packages that are unpacked beside the system. */
export interface UnpackedPackages {
  /** Names the folder. */
  readonly name: string;
  readonly packages: readonly string[];
  /** A file, from the folder, that tells that they are there. */
  readonly proof: string;
}

/**
 * Unpacks Debian packages beside the system, without installing them: for programs that are in conflict with what the
 * machine has, or that would bring services along. Once a machine.
 * @returns the folder that they are unpacked in
 * @throws CodedError `package_missing`
 */
export function unpackPackages(wanted: UnpackedPackages, say: (line: string) => void): string {
  const { name, packages, proof } = wanted;
  // another list is another folder: what lies there was unpacked from the list of its day
  const list = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 8);
  const root = join(tmpdir(), `lemniscate-${name}-${list}-${process.getuid?.() ?? 0}`);
  if (existsSync(join(root, proof))) return root;
  const missing = (why: string): CodedError =>
    new CodedError('package_missing', `Debian's ${name} cannot be unpacked (${why}).`, { packages });
  const attempt = (program: string, args: readonly string[], cwd: string) =>
    spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 300_000 });
  const run = (program: string, args: readonly string[], cwd: string): void => {
    const { status, stderr } = attempt(program, args, cwd);
    if (status !== 0) throw missing(`${program}: ${stderr.slice(0, 300)}`);
  };
  if (findProgram('apt-get') === undefined || findProgram('dpkg-deb') === undefined)
    throw missing('there is no apt-get');
  say(`unpacking ${name} (apt-get download)`);
  const draft = `${root}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const download = ['download', '-qq', ...packages];
    if (attempt('apt-get', download, draft).status !== 0) {
      // a new machine may have no package lists, or old ones
      run('apt-get', ['update', '-qq'], draft);
      run('apt-get', download, draft);
    }
    for (const file of readdirSync(draft).filter((entry) => entry.endsWith('.deb')))
      run('dpkg-deb', ['-x', file, '.'], draft);
    if (!existsSync(root)) renameSync(draft, root);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return root;
}
