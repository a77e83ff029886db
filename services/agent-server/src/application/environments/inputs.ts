import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, glob, lstat, mkdir, open, readdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { folderPathSchema } from '@lemniscate/shared/agents/folder.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** A file that an environment is made from. */
export interface EnvironmentInput {
  readonly path: string;
  readonly sha256: string;
  readonly executable: boolean;
  readonly content: Buffer;
}

const maxFiles = 500;
const maxBytes = 32 * 1024 * 1024;

/**
 * The files of a commit that its project's environment depends on. The tree is hostile: a file that is reached through a
 * link is refused, for it would be read from the host.
 * @throws CodedError `environment_failed`
 */
export async function readInputs(tree: string, patterns: readonly string[]): Promise<EnvironmentInput[]> {
  const root = await realpath(tree);
  const names = new Set<string>();
  for (const pattern of patterns)
    for await (const name of glob(pattern, { cwd: root })) {
      names.add(name);
      if (names.size > maxFiles) throw refused(`"lockfiles" fits more than ${maxFiles} files; name fewer`);
    }
  const inputs: EnvironmentInput[] = [];
  let total = 0;
  for (const name of [...names].toSorted()) {
    const path = join(root, name);
    const facts = await lstat(path);
    if (facts.isDirectory()) continue;
    if (!folderPathSchema.safeParse(name).success) throw refused(`${JSON.stringify(name)} is no plain path`);
    if (!facts.isFile() || (await realpath(path)) !== path)
      throw refused(`${name} is a link; it must be a file`);
    total += facts.size;
    if (total > maxBytes) throw refused(`the lockfiles have more than ${maxBytes} bytes`);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const content = await file.readFile();
      const sha256 = createHash('sha256').update(content).digest('hex');
      inputs.push({ path: name, sha256, executable: (facts.mode & 0o100) !== 0, content });
    } finally {
      await file.close();
    }
  }
  return inputs;
}

function refused(why: string): CodedError {
  return new CodedError('environment_failed', `The environment cannot be made: ${why}.`);
}

/** Puts the inputs, and nothing else of the repository, into an empty folder that no process has seen yet. */
export async function layInputs(
  folder: string,
  inputs: readonly EnvironmentInput[],
  { uid, gid }: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const own = (path: string) => (process.getuid?.() === 0 ? chown(path, uid, gid) : Promise.resolve());
  for (const { path, executable, content } of inputs) {
    for (const above of foldersAbove(path)) {
      await mkdir(join(folder, above), { recursive: true, mode: 0o755 });
      await own(join(folder, above));
    }
    await writeFile(join(folder, path), content, { mode: executable ? 0o755 : 0o644, flag: 'wx' });
    await own(join(folder, path));
  }
}

/** `a`, `a/b` for `a/b/c`. */
function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

/** More places than this are not told apart. */
const maxInstalled = 1000;

/**
 * What a build has put beside the repository's own: the uppermost paths of its tree that are no folder of the revision's
 * tree.
 */
export async function installedPaths(tree: string, revisionTree: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of await readdir(join(tree, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && (await isFolder(join(revisionTree, path)))) folders.push(path);
      else if (folderPathSchema.safeParse(path).success && found.length < maxInstalled) found.push(path);
    }
  return found.toSorted();
}

function isFolder(path: string): Promise<boolean> {
  return lstat(path).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
}
