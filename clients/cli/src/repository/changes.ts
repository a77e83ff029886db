import { applyOnto, withBase } from './apply.ts';
import { git, gitText } from './git.ts';
import { withScratch } from './scratch.ts';

/** A changed file as text before and after; null where it is not there. */
export interface FileChange {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What is shown at most: past these, an editor is better served by the patch. */
const maxFiles = 200;
const maxBytes = 1024 * 1024;

/**
 * The old and new text of each file that a patch changes.
 * @param baseTree tree that the patch was made against
 * @returns null where that tree is not here, or the change is too large to be shown; binary files are left out
 */
export async function readChanges(
  folder: string,
  patch: Uint8Array,
  baseTree: string,
): Promise<readonly FileChange[] | null> {
  if (patch.length === 0) return [];
  return withScratch(folder, async (scratch) => {
    const env = withBase(scratch.env, baseTree);
    const known = await git(folder, ['cat-file', '-e', `${baseTree}^{tree}`], { env });
    if (known.exitCode !== 0) return null;
    const result = await applyOnto(folder, patch, baseTree, env);
    const names = await gitText(folder, ['diff', '--name-only', '-z', '--no-renames', baseTree, result], {
      env,
    });
    const paths = names.split('\0').filter((name) => name !== '');
    if (paths.length > maxFiles) return null;
    const changes: FileChange[] = [];
    for (const path of paths) {
      const [before, after] = await Promise.all([
        readText(folder, `${baseTree}:${path}`, env),
        readText(folder, `${result}:${path}`, env),
      ]);
      if (before === binary || after === binary) continue;
      changes.push({ path, before, after });
    }
    return changes;
  });
}

const binary = Symbol('binary');

async function readText(
  folder: string,
  object: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null | typeof binary> {
  const shown = await git(folder, ['cat-file', 'blob', object], { env });
  if (shown.exitCode !== 0) return null;
  if (shown.stdout.length > maxBytes || shown.stdout.includes(0)) return binary;
  return shown.stdout.toString('utf8');
}
