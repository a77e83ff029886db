import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';
import type { HostGit } from './host-git.ts';
import type { Mirror } from './mirror-cache.ts';

type FetchedSource = Exclude<OrderedRepository, { kind: 'bundle' }>;

/** Where git fetches from, and by which protocol alone. */
export interface FetchAddress {
  readonly address: string;
  readonly protocol: 'https' | 'ssh' | 'file';
}

/**
 * Decides whether an address may be fetched at all. https and ssh only; a folder of this machine only where the
 * operator allows it (embedded fleets and workstations).
 * @throws CodedError `repository_source_refused`, `repository_missing`
 */
export async function checkAddress(source: FetchedSource, allowLocalPaths: boolean): Promise<FetchAddress> {
  if (source.kind === 'path') return checkPath(source.path, allowLocalPaths);
  const scp = /^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^-].*$/.test(source.url);
  if (scp) return { address: source.url, protocol: 'ssh' };
  const url = URL.canParse(source.url) ? new URL(source.url) : undefined;
  if (url?.protocol === 'https:') return { address: url.href, protocol: 'https' };
  if (url?.protocol === 'ssh:' && !url.hostname.startsWith('-'))
    return { address: url.href, protocol: 'ssh' };
  throw new CodedError(
    'repository_source_refused',
    `${source.url} is not an https or ssh address; only those are fetched. Use https://… or ssh://…, or send the repository as a bundle.`,
  );
}

async function checkPath(path: string, allowed: boolean): Promise<FetchAddress> {
  if (!allowed)
    throw new CodedError(
      'repository_source_refused',
      `${path} is a folder of the agent server, which only an embedded fleet or a workstation reads. Send the repository as a bundle.`,
    );
  if (!isAbsolute(path))
    throw new CodedError(
      'repository_source_refused',
      `${path} is not an absolute path. Give the whole path.`,
    );
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    throw new CodedError(
      'repository_missing',
      `There is no repository at ${path} (${error.code ?? 'unreadable'}).`,
    );
  });
  if (!found.isDirectory()) throw new CodedError('repository_missing', `${path} is not a folder.`);
  return { address: path, protocol: 'file' };
}

/** Turns git's own words into a coded error that names the source. */
function explain(name: string, stderr: string): CodedError {
  const said = stderr.trim().slice(-500);
  if (/couldn't find remote ref/i.test(stderr))
    return new CodedError('revision_missing', `${name} has no such branch, tag or commit: ${said}`);
  if (/does not appear to be a git repository|not found|does not exist/i.test(stderr))
    return new CodedError('repository_missing', `There is no git repository at ${name}: ${said}`);
  return new CodedError('repository_broken', `${name} cannot be fetched: ${said}`);
}

/**
 * Brings a fetched source's revision, or the commit that a session began from, into the mirror and returns its commit. The remote is asked on each use: that
 * is also the authorisation of whoever uses the cache.
 * @throws CodedError `repository_missing`, `repository_empty`, `revision_missing`, `repository_broken`
 */
export async function fetchSource(
  git: HostGit,
  source: FetchedSource,
  from: FetchAddress,
  mirror: Mirror,
  options: { timeoutMs: number; signal: AbortSignal; commit?: string },
): Promise<string> {
  const name = source.kind === 'git' ? source.url : source.path;
  const run = (args: readonly string[]) => git(args, { ...options, protocols: [from.protocol] });
  const revision = source.revision ?? 'HEAD';
  const asked = await run(['ls-remote', '--', from.address]);
  if (asked.exitCode !== 0) throw explain(name, asked.stderr);
  if (asked.stdout.trim() === '')
    throw new CodedError('repository_empty', `${name} has no commit yet. Commit something first.`);
  const init = await run(['init', '-q', '--bare', mirror.gitDir]);
  if (init.exitCode !== 0) throw explain(name, init.stderr);
  if (options.commit !== undefined && (await isPinned(run, mirror, options.commit))) return options.commit;
  const into = 'refs/lemniscate/fetched';
  const fetched = await run([
    `--git-dir=${mirror.gitDir}`,
    'fetch',
    '-q',
    '--no-tags',
    '--no-write-fetch-head',
    '--force',
    '--',
    from.address,
    // A commit by its name: the second version of the protocol gives any that the remote still has.
    `+${options.commit ?? revision}:${into}`,
  ]);
  if (fetched.exitCode !== 0) throw explain(name, fetched.stderr);
  const commit = await run([`--git-dir=${mirror.gitDir}`, 'rev-parse', '--verify', '-q', `${into}^{commit}`]);
  if (commit.exitCode !== 0)
    throw new CodedError('revision_missing', `${revision} of ${name} is not a commit.`);
  const id = commit.stdout.trim();
  const pinned = await run([`--git-dir=${mirror.gitDir}`, 'update-ref', `refs/lemniscate/base-${id}`, id]);
  if (pinned.exitCode !== 0) throw explain(name, pinned.stderr);
  return id;
}

async function isPinned(
  run: (args: readonly string[]) => ReturnType<HostGit>,
  mirror: Mirror,
  commit: string,
): Promise<boolean> {
  const args = [
    `--git-dir=${mirror.gitDir}`,
    'rev-parse',
    '--verify',
    '-q',
    `refs/lemniscate/base-${commit}`,
  ];
  return (await run(args)).exitCode === 0;
}
