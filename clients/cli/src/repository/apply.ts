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
 * @throws CodedError `diff_conflict` with the paths and the lines, `repository_broken`
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
    const places = [...applied.stderr.matchAll(/^error: (?:patch failed: )?(.+?)(?::(\d+)|: .*)$/gm)].map(
      ([, path = '', line]) => ({ path, lines: line === undefined ? [] : [Number(line)] }),
    );
    const named = new Set(places.filter(({ lines }) => lines.length > 0).map(({ path }) => path));
    const told = places.filter(({ path, lines }) => lines.length > 0 || !named.has(path));
    throw conflict(folder, told, applied.stderr);
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
      await Promise.all(
        conflicts
          .filter((path) => path !== '')
          .map(async (path) => ({ path, lines: await conflictLines(folder, tree.trim(), path, env) })),
      ),
      merged.stderr,
    );
  throw new CodedError(
    'repository_broken',
    `git cannot merge in ${folder}: ${merged.stderr.trim().slice(-800)}`,
  );
}

/** A file that does not take the patch, and the lines of it, as it is now, at which it does not. */
interface ConflictPlace {
  readonly path: string;
  readonly lines: readonly number[];
}

/** Where both sides changed a file, by the marks that git has left in the merged one; none where a side has deleted it. */
async function conflictLines(
  folder: string,
  tree: string,
  path: string,
  env: Environment,
): Promise<number[]> {
  const merged = await git(folder, ['cat-file', 'blob', `${tree}:${path}`], { env });
  if (merged.exitCode !== 0) return [];
  const lines: number[] = [];
  let own = 0;
  let theirs = false;
  for (const line of merged.stdout.toString('utf8').split('\n')) {
    if (/^<{7} /.test(line)) lines.push(own + 1);
    else if (/^={7}$/.test(line) && lines.length > 0) theirs = true;
    else if (/^>{7} /.test(line)) theirs = false;
    else if (!theirs) own += 1;
  }
  return lines;
}

function showPlace({ path, lines }: ConflictPlace): string {
  if (lines.length === 0) return path;
  return `${path} (line${lines.length === 1 ? '' : 's'} ${lines.slice(0, 20).join(', ')})`;
}

function conflict(folder: string, places: readonly ConflictPlace[], detail: string): CodedError {
  const where = places.length > 0 ? places.map(showPlace).join(', ') : detail.trim();
  const paths = [...new Set(places.map(({ path }) => path))];
  return new CodedError(
    'diff_conflict',
    `The diff does not apply to ${folder} any more: ${where} changed since. Nothing was touched. Take your later edits of it back and apply again, or merge by hand what "lemniscate diff" shows.`,
    { paths },
  );
}
