import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { FetchDepth } from '@lemniscate/shared/repository/source.ts';
import type { HostGitResult } from './host-git.ts';

/** Runs git on the host against one remote. */
export type RunGit = (
  args: readonly string[],
  more?: { readonly stdin?: string; readonly maxOutputBytes?: number; readonly maxFileBytes?: number },
) => Promise<HostGitResult>;

/** What every fetch says: what is fetched is named by us, and nothing else comes with it. */
export const quietFetch = ['-q', '--no-tags', '--no-write-fetch-head'] as const;

/** A fetch of a whole repository, or of a part of it. */
export interface PartFetch {
  /** Before the command. */
  readonly settings: readonly string[];
  readonly options: readonly string[];
  readonly remote: string;
  /** Brings the files of a commit whose history has come without. @returns what git said when it could not */
  fetchFiles(commit: string): Promise<string | null>;
  /** Brings single files by their object ids. @returns the same */
  fetchObjects(ids: readonly string[]): Promise<string | null>;
}

const remote = 'source';
const filter = 'blob:none';

const nothingMissing = (): Promise<null> => Promise.resolve(null);

/** Of a commit with a million files: 41 bytes a name, and those of its folders. */
const maxListBytes = 128 * 1024 * 1024;

/**
 * How a mirror is fetched. A partial one has the history without the contents of files, and then those of the commit
 * that is laid out, all in one request; git calls the remote a promisor, or it would take what is missing for damage.
 */
export async function openPart(
  run: RunGit,
  gitDir: string,
  address: string,
  { depth, partial = false }: FetchDepth = {},
): Promise<PartFetch> {
  const options = depth === undefined ? [] : [`--depth=${depth}`, '--update-shallow'];
  if (!partial)
    return {
      settings: [],
      options,
      remote: address,
      fetchFiles: nothingMissing,
      fetchObjects: nothingMissing,
    };
  for (const [name, value] of [
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', remote],
  ] as const) {
    const set = await run([`--git-dir=${gitDir}`, 'config', name, value]);
    if (set.exitCode !== 0)
      throw new CodedError('repository_broken', `${gitDir} cannot be made a partial mirror: ${set.stderr}`);
  }
  const settings = [`url=${address}`, 'promisor=true', `partialCloneFilter=${filter}`].flatMap((setting) => [
    '-c',
    `remote.${remote}.${setting}`,
  ]);
  const fetchObjects = async (ids: readonly string[]): Promise<string | null> => {
    if (ids.length === 0) return null;
    const wanted = ['fetch', ...quietFetch, `--filter=${filter}`, '--stdin', remote];
    const fetched = await run(
      // they are wanted by name: there is nothing to negotiate about
      [...settings, '-c', 'fetch.negotiationAlgorithm=noop', `--git-dir=${gitDir}`, ...wanted],
      { stdin: ids.map((id) => `${id}\n`).join('') },
    );
    return fetched.exitCode === 0 ? null : fetched.stderr;
  };
  const fetchFiles = async (commit: string): Promise<string | null> => {
    const list = ['rev-list', '--objects', '--no-object-names', '--missing=print', '--no-walk', commit];
    const listed = await run([...settings, `--git-dir=${gitDir}`, ...list], { maxOutputBytes: maxListBytes });
    if (listed.exitCode !== 0) return listed.stderr;
    return fetchObjects(
      listed.stdout.split('\n').flatMap((line) => (line.startsWith('?') ? [line.slice(1)] : [])),
    );
  };
  return { settings, options: [...options, `--filter=${filter}`], remote, fetchFiles, fetchObjects };
}

/** Names the cache of such a part: a mirror of all of a repository and one of a part of it are two. */
export function partName({ depth, partial = false }: FetchDepth = {}): string {
  return `${depth === undefined ? '' : `.depth-${depth}`}${partial ? '.partial' : ''}`;
}

/** The repository that the cache holds a part of. */
export function withoutPart(name: string): string {
  return name.split('.')[0] ?? name;
}
