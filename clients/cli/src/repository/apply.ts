import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { baseObjects } from './base-store.ts';
import { git, gitText } from './git.ts';
import { withScratch, writeWorkingTree } from './scratch.ts';

/** What was changed in the working tree. */
export interface Applied {
  readonly files: readonly string[];
}

/**
 * Applies a session's patch to the working tree: three-way, so that edits made meanwhile are kept, and all or nothing.
 * Index, branches and commits stay as they are. The merge happens among trees in a scratch folder; only a clean result
 * reaches the files.
 * @param baseTree tree that the patch was made against
 * @param beforeWriting runs when the merge is clean and nothing is touched yet; what it throws stops the whole
 * @throws CodedError `diff_conflict` with the paths, `repository_broken`
 */
export async function applyPatch(
  folder: string,
  patch: Uint8Array,
  baseTree: string,
  beforeWriting: () => Promise<void> = () => Promise.resolve(),
): Promise<Applied> {
  if (patch.length === 0) {
    await beforeWriting();
    return { files: [] };
  }
  return withScratch(folder, async (scratch) => {
    const now = await writeWorkingTree(folder, scratch);
    const env = withBase(scratch.env, baseTree);
    const known = (await git(folder, ['cat-file', '-e', `${baseTree}^{tree}`], { env })).exitCode === 0;
    const result = known
      ? await mergeTrees(folder, patch, baseTree, now, env)
      : await applyOnto(folder, patch, now, env);
    const change = await git(folder, ['diff', '--binary', '--full-index', '--no-renames', now, result], {
      env,
    });
    await beforeWriting();
    if (change.stdout.length === 0) return { files: [] };
    const applied = await git(folder, ['apply', '--whitespace=nowarn', '-'], { env, stdin: change.stdout });
    if (applied.exitCode !== 0)
      throw new CodedError('diff_conflict', `The diff does not apply to ${folder}: ${applied.stderr.trim()}`);
    const names = await gitText(folder, ['diff', '--name-only', '-z', '--no-renames', now, result], {
      env,
    });
    return { files: names.split('\0').filter((name) => name !== '') };
  });
}

type Environment = Readonly<Record<string, string>>;

/** Reads the objects of an uncommitted base as well, which the repository itself does not have. */
export function withBase(env: Environment, baseTree: string): Environment {
  const kept = baseObjects(baseTree);
  if (kept === undefined) return env;
  const theirs = env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] ?? '';
  return { ...env, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${theirs}:${JSON.stringify(kept)}` };
}

/** The patch's result on its own base, as a tree. */
export async function applyOnto(
  folder: string,
  patch: Uint8Array,
  tree: string,
  env: Environment,
): Promise<string> {
  const index = { ...env, GIT_INDEX_FILE: `${env.GIT_INDEX_FILE ?? ''}.base` };
  await gitText(folder, ['read-tree', tree], { env: index });
  const applied = await git(folder, ['apply', '--cached', '--whitespace=nowarn', '-'], {
    env: index,
    stdin: patch,
  });
  if (applied.exitCode !== 0) {
    const paths = [...applied.stderr.matchAll(/^error: (?:patch failed: )?(.+?)(?::\d+|: .*)$/gm)].map(
      (m) => m[1] ?? '',
    );
    throw conflict(folder, [...new Set(paths)], applied.stderr);
  }
  return gitText(folder, ['write-tree'], { env: index });
}

async function mergeTrees(
  folder: string,
  patch: Uint8Array,
  baseTree: string,
  now: string,
  env: Environment,
): Promise<string> {
  const commit = (tree: string, ...parents: string[]) =>
    gitText(folder, ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-m', 'merge'], {
      env,
    });
  const base = await commit(baseTree);
  const theirs = await commit(await applyOnto(folder, patch, baseTree, env), base);
  const ours = await commit(now, base);
  const merged = await git(
    folder,
    ['merge-tree', '--write-tree', '--name-only', '-z', '--no-messages', ours, theirs],
    {
      env,
    },
  );
  const [tree = '', ...conflicts] = merged.stdout.toString('utf8').split('\0');
  if (merged.exitCode === 0) return tree.trim();
  if (merged.exitCode === 1)
    throw conflict(
      folder,
      conflicts.filter((path) => path !== ''),
      merged.stderr,
    );
  throw new CodedError(
    'repository_broken',
    `git cannot merge in ${folder}: ${merged.stderr.trim().slice(-800)}`,
  );
}

function conflict(folder: string, paths: readonly string[], detail: string): CodedError {
  const where = paths.length > 0 ? paths.join(', ') : detail.trim();
  return new CodedError(
    'diff_conflict',
    `The diff does not apply to ${folder} any more: ${where} changed since. Nothing was touched. Take your later edits of it back and apply again, or merge by hand what "lemniscate diff" shows.`,
    { paths },
  );
}
