import { copyFile, mkdir, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gitText } from './git.ts';

/** A place for objects and an index beside the person's repository, which therefore stays as it was. */
export interface Scratch {
  readonly folder: string;
  readonly index: string;
  /** Environment for git: reads the repository's objects, writes into the scratch alone. */
  readonly env: Readonly<Record<string, string>>;
}

/** Runs work with a scratch and removes it afterwards, whatever happens. */
export async function withScratch<Result>(
  repository: string,
  work: (scratch: Scratch) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-'));
  try {
    const objects = await gitText(repository, [
      'rev-parse',
      '--path-format=absolute',
      '--git-path',
      'objects',
    ]);
    const theirIndex = await gitText(repository, [
      'rev-parse',
      '--path-format=absolute',
      '--git-path',
      'index',
    ]);
    const index = join(folder, 'index');
    await mkdir(join(folder, 'objects'));
    await borrowIndex(theirIndex, index);
    const env = {
      GIT_INDEX_FILE: index,
      GIT_OBJECT_DIRECTORY: join(folder, 'objects'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: objects,
      GIT_AUTHOR_NAME: 'lemniscate',
      GIT_AUTHOR_EMAIL: 'cli@lemniscate.invalid',
      GIT_COMMITTER_NAME: 'lemniscate',
      GIT_COMMITTER_EMAIL: 'cli@lemniscate.invalid',
    };
    return await work({ folder, index, env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Copies the person's index, so that only changed files are read. git takes an entry's word for a file only if the
 * file is older than the index: the copy must therefore not look newer than the original, or an edit of the same size
 * made right after the last `git add` would be missed. Older is safe: it only makes git look at more files.
 */
async function borrowIndex(theirs: string, copy: string): Promise<void> {
  const made = await copyFile(theirs, copy).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (!made) return;
  const writtenAt = Math.floor((await stat(theirs)).mtimeMs / 1000) - 1;
  await utimes(copy, writtenAt, writtenAt);
}

/** The tree of the working folder as it stands now: staged, unstaged and new files, without ignored ones. */
export async function writeWorkingTree(repository: string, scratch: Scratch): Promise<string> {
  await gitText(repository, ['add', '-A', '--', '.'], { env: scratch.env });
  return gitText(repository, ['write-tree'], { env: scratch.env });
}
