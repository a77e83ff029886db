import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import { endingWithUs } from '../../ending-with-us.ts';
import type { FetchAddress } from '../fetch-source.ts';
import { pinnedSsh } from '../fetch-source.ts';

/** Where a repository's large files are asked for, and what is said to be let in. */
export interface LfsEndpoint {
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
}

const authenticated = z.object({
  href: z.string().max(4096),
  header: z.record(z.string(), z.string()).optional(),
});

/** The address of a repository with the folder that LFS has there. */
function below(address: string): string {
  const base = address.replace(/\/+$/, '');
  return `${base.endsWith('.git') ? base : `${base}.git`}/info/lfs`;
}

/** Host words and path of both ways to write an ssh address. */
function sshParts(address: string): {
  readonly options: string[];
  readonly host: string;
  readonly path: string;
} {
  const [, scpHost, scpPath] = /^([^/:]+@[^/:]+):(.+)$/.exec(address) ?? [];
  if (scpHost !== undefined && scpPath !== undefined) return { options: [], host: scpHost, path: scpPath };
  const { username, hostname, port, pathname } = new URL(address);
  const host = username === '' ? hostname : `${decodeURIComponent(username)}@${hostname}`;
  return { options: port === '' ? [] : ['-p', port], host, path: decodeURIComponent(pathname) };
}

/**
 * Finds a repository's LFS server from the repository's own address alone: what `.lfsconfig` says is the repository's
 * word, and would lead a server of ours anywhere. Over ssh the git host names it and lets us in.
 * @throws CodedError `large_file_missing`
 */
export async function lfsEndpoint(
  from: FetchAddress,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<LfsEndpoint> {
  if (from.protocol === 'https') return { href: below(from.address), headers: {} };
  const { options: words, host, path } = sshParts(from.address);
  const { GIT_SSH_COMMAND: ssh = 'ssh' } = pinnedSsh(from);
  const command = `git-lfs-authenticate '${path.replaceAll("'", `'\\''`)}' download`;
  // the command is a shell's, as git has it
  const argv = ['-c', `exec ${ssh} "$@"`, 'sh', ...words, '--', host, command];
  try {
    const { stdout } = await promisify(execFile)(...endingWithUs('/bin/sh', argv), {
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: process.env['HOME'] ?? '/nonexistent',
        LANG: 'C.UTF-8',
      },
      signal: options.signal,
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
    });
    const { href, header = {} } = authenticated.parse(JSON.parse(stdout));
    return { href: href.replace(/\/+$/, ''), headers: header };
  } catch (error) {
    options.signal.throwIfAborted();
    const said = (error as { stderr?: string }).stderr?.trim() || 'its answer cannot be read';
    throw new CodedError(
      'large_file_missing',
      `${host} does not let us in for large files (git-lfs-authenticate): ${said.slice(-300)}`,
      {},
      error,
    );
  }
}
