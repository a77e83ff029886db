import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';
import { pinHost } from './fetch-host.ts';
import type { FetchHosts, PinnedHost } from './fetch-host.ts';
import { sshCommand } from './git-environment.ts';
import type { HostGit } from './host-git.ts';
import { openPart, quietFetch } from './part-of-repository.ts';
import type { RunGit } from './part-of-repository.ts';
import type { Mirror } from './mirror-cache.ts';

type FetchedSource = Exclude<OrderedRepository, { kind: 'bundle' }>;

/** Where git fetches from, and by which protocol alone. */
export interface FetchAddress {
  readonly address: string;
  readonly protocol: 'https' | 'ssh' | 'file';
  /** The one address that git is made to use; absent for a folder. */
  readonly pinned?: PinnedHost;
  readonly ssh?: FetchHosts['ssh'];
  readonly authorityFile?: string;
}

/** What this server may fetch. */
export interface FetchBounds {
  readonly allowLocalPaths: boolean;
  readonly hosts: FetchHosts;
}

const fetched: Readonly<Record<string, 'https' | 'ssh'>> = { 'https:': 'https', 'ssh:': 'ssh' };

/**
 * Decides whether an address may be fetched at all. https and ssh only; a folder of this machine only where the
 * operator allows it (embedded fleets and workstations). Hosts inside the server's networks are refused unless named.
 * @throws CodedError `repository_source_refused`, `repository_missing`
 */
export async function checkAddress(source: FetchedSource, bounds: FetchBounds): Promise<FetchAddress> {
  if (source.kind === 'path') return checkPath(source.path, bounds.allowLocalPaths);
  const { ssh, authorityFile } = bounds.hosts;
  const pin = async (host: string) => ({
    pinned: await pinHost(host, bounds.hosts),
    ...(ssh === undefined ? {} : { ssh }),
    ...(authorityFile === undefined ? {} : { authorityFile }),
  });
  const scp = /^[A-Za-z0-9._-]+@([A-Za-z0-9.-]+):[^-].*$/.exec(source.url)?.[1];
  if (scp !== undefined && !scp.startsWith('-'))
    return { address: source.url, protocol: 'ssh', ...(await pin(scp)) };
  const url = URL.canParse(source.url) ? new URL(source.url) : undefined;
  // Not a special scheme to the URL standard, so its host is taken as it was written: a number would pass for a name.
  const host = url?.protocol === 'ssh:' ? new URL(`https://${url.host}`).hostname : (url?.hostname ?? '');
  const protocol = fetched[url?.protocol ?? ''];
  if (url !== undefined && protocol !== undefined && host !== '' && !host.startsWith('-'))
    return { address: url.href, protocol, ...(await pin(host)) };
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

function tooLarge(name: string, maxBytes: number): CodedError {
  return new CodedError(
    'repository_too_large',
    `${name} is larger than the ${maxBytes} bytes that this server takes. Fetch a part of it: \`repository: {depth: 50, partial: true}\` in the project's policy.`,
    { maxBytes },
  );
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

/** git against this one remote, by its own protocol and at the address that was looked at. */
function towards(
  git: HostGit,
  from: FetchAddress,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): RunGit {
  return (args, more) =>
    git([...pinning(from), ...args], {
      ...options,
      ...more,
      protocols: [from.protocol],
      extra: pinnedSsh(from),
    });
}

/**
 * Brings a fetched source's revision, or the commit that a session began from, into the mirror and returns its commit. The remote is asked on each use: that
 * is also the authorisation of whoever uses the cache.
 * @throws CodedError `repository_missing`, `repository_empty`, `revision_missing`, `repository_broken`,
 * `repository_too_large`
 */
export async function fetchSource(
  git: HostGit,
  source: FetchedSource,
  from: FetchAddress,
  mirror: Mirror,
  options: { timeoutMs: number; signal: AbortSignal; maxBytes: number; commit?: string },
): Promise<string> {
  const name = source.kind === 'git' ? source.url : source.path;
  const run = towards(git, from, options);
  const revision = source.revision ?? 'HEAD';
  const asked = await run(['ls-remote', '--', from.address]);
  if (asked.exitCode !== 0) throw explain(name, asked.stderr);
  if (asked.stdout.trim() === '')
    throw new CodedError('repository_empty', `${name} has no commit yet. Commit something first.`);
  // Nothing new: the mirror has the commit that the remote has under this name.
  const advertised = options.commit ?? advertisedCommit(asked.stdout, revision);
  if (advertised !== null && (await isPinned(run, mirror, advertised))) return advertised;
  const init = await run(['init', '-q', '--bare', mirror.gitDir]);
  if (init.exitCode !== 0) throw explain(name, init.stderr);
  const into = 'refs/lemniscate/fetched';
  const part = await openPart(run, mirror.gitDir, from.address, source.fetch);
  const fetched = await run(
    [
      ...part.settings,
      `--git-dir=${mirror.gitDir}`,
      'fetch',
      ...quietFetch,
      '--force',
      ...part.options,
      '--',
      part.remote,
      // A commit by its name: the second version of the protocol gives any that the remote still has.
      `+${options.commit ?? revision}:${into}`,
    ],
    { maxFileBytes: options.maxBytes },
  );
  if (/died of signal 25|File too large/i.test(fetched.stderr)) throw tooLarge(name, options.maxBytes);
  if (fetched.exitCode !== 0) throw explain(name, fetched.stderr);
  const commit = await run([`--git-dir=${mirror.gitDir}`, 'rev-parse', '--verify', '-q', `${into}^{commit}`]);
  if (commit.exitCode !== 0)
    throw new CodedError('revision_missing', `${revision} of ${name} is not a commit.`);
  const id = commit.stdout.trim();
  const files = await part.fetchFiles(id);
  if (files !== null) throw explain(name, files);
  const pinned = await run([`--git-dir=${mirror.gitDir}`, 'update-ref', `refs/lemniscate/base-${id}`, id]);
  if (pinned.exitCode !== 0) throw explain(name, pinned.stderr);
  return id;
}

/**
 * A file of a commit that a partial mirror may not have yet; null where the remote has none such either.
 * @param path relative to the root of the repository
 */
export async function readFetched(
  git: HostGit,
  source: FetchedSource,
  from: FetchAddress,
  mirror: Mirror,
  file: { readonly commit: string; readonly path: string },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<string | null> {
  const run = towards(git, from, options);
  const part = await openPart(run, mirror.gitDir, from.address, { ...source.fetch, depth: 1 });
  const here = [...part.settings, `--git-dir=${mirror.gitDir}`];
  const name = `${file.commit}:${file.path}`;
  const fetched = await run([
    ...here,
    'fetch',
    ...quietFetch,
    ...part.options,
    '--',
    part.remote,
    file.commit,
  ]);
  if (fetched.exitCode !== 0) return null;
  const id = await run([...here, 'rev-parse', '--verify', '-q', name]);
  if (id.exitCode !== 0 || (await part.fetchObjects([id.stdout.trim()])) !== null) return null;
  const read = await run([...here, 'cat-file', 'blob', name]);
  return read.exitCode === 0 ? read.stdout : null;
}

async function isPinned(run: RunGit, mirror: Mirror, commit: string): Promise<boolean> {
  const args = [
    `--git-dir=${mirror.gitDir}`,
    'rev-parse',
    '--verify',
    '-q',
    `refs/lemniscate/base-${commit}`,
  ];
  return (await run(args)).exitCode === 0;
}

/** The commit that a revision names among what the remote has, in git's own order of looking; null where it is none of them. */
export function advertisedCommit(lsRemote: string, revision: string): string | null {
  if (/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(revision)) return revision;
  const refs = new Map(
    lsRemote.split('\n').map((line) => {
      const [commit = '', ref = ''] = line.split('\t');
      return [ref, commit];
    }),
  );
  for (const name of [revision, `refs/${revision}`, `refs/tags/${revision}`, `refs/heads/${revision}`]) {
    // of an annotated tag the peeled one is the commit
    const commit = refs.get(`${name}^{}`) ?? refs.get(name);
    if (commit !== undefined && commit !== '') return commit;
  }
  return null;
}

/** git's own resolver must not be asked: what was looked up and allowed is what is connected to. */
function pinning({ address, protocol, pinned, authorityFile }: FetchAddress): string[] {
  if (protocol !== 'https' || pinned === undefined) return [];
  const port = new URL(address).port || '443';
  const shown = pinned.address.includes(':') ? `[${pinned.address}]` : pinned.address;
  const trust = authorityFile === undefined ? [] : ['-c', `http.sslCAInfo=${authorityFile}`];
  return ['-c', `http.curloptResolve=${pinned.host}:${port}:${shown}`, ...trust];
}

/** @returns variables that make ssh use the pinned address under the host's own name, and the server's own files */
export function pinnedSsh({ protocol, pinned, ssh = {} }: FetchAddress): Record<string, string> {
  if (protocol !== 'ssh' || pinned === undefined) return {};
  const { key, knownHosts } = ssh;
  const words = [
    `-oHostName=${pinned.address}`,
    `-oHostKeyAlias=${pinned.host}`,
    // git gives the command to a shell
    ...(key === undefined ? [] : [`-oIdentitiesOnly=yes -i ${quoted(key)}`]),
    ...(knownHosts === undefined ? [] : [`-oUserKnownHostsFile=${quoted(knownHosts)}`]),
  ];
  return { GIT_SSH_COMMAND: [sshCommand, ...words].join(' ') };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
