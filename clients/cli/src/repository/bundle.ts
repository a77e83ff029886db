import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { bundledLargeFilesRef } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { keepBase } from './base-store.ts';
import { git, gitText } from './git.ts';
import type { LocalRepository } from './inspect.ts';
import { commitLargeFiles } from './large-files.ts';
import { withScratch, writeWorkingTree } from './scratch.ts';

/** A bundle on disk, only valid inside the callback of `withBundle`. */
export interface Bundle {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** What the working copy is laid from and the diff is against. */
  readonly commit: string;
  /** Uncommitted changes are in it, as a last commit. */
  readonly dirty: boolean;
}

/** A repository whose packs exceed this is sent as a snapshot of its files without history. */
const maxHistoryBytes = 256 * 1024 * 1024;
/** A bundle past this is refused before it is sent. */
const maxBundleBytes = 2 * 1024 * 1024 * 1024;

/** Same files, same commit, same bundle: then nothing has to be sent again. */
const fixedDate = '2000-01-01T00:00:00Z';

async function historyBytes(folder: string): Promise<number> {
  const counts = await gitText(folder, ['count-objects', '-v']);
  const of = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(counts)?.[1] ?? 0) * 1024;
  return of('size') + of('size-pack');
}

/**
 * Packs the repository as it stands, uncommitted changes included, without touching it: index and objects are made in
 * a scratch folder. HEAD's history comes along unless it is shallow or huge.
 * @param largeFiles whether the contents of Git LFS files come along that this machine has
 * @throws CodedError `repository_too_large`, `repository_broken`
 */
export async function withBundle<Result>(
  repository: LocalRepository,
  work: (bundle: Bundle) => Promise<Result>,
  { largeFiles = false }: { readonly largeFiles?: boolean } = {},
): Promise<Result> {
  const { folder, head } = repository;
  return withScratch(folder, async (scratch) => {
    const tree = await writeWorkingTree(folder, scratch);
    const headTree = head === null ? null : await gitText(folder, ['rev-parse', `${head}^{tree}`]);
    const dirty = tree !== headTree;
    if (dirty) await keepBase(scratch, tree);
    const withHistory =
      head !== null && !repository.shallow && (await historyBytes(folder)) <= maxHistoryBytes;
    const env = { ...scratch.env, GIT_AUTHOR_DATE: fixedDate, GIT_COMMITTER_DATE: fixedDate };
    const message = dirty ? 'Uncommitted changes' : 'Snapshot';
    const parents = withHistory ? ['-p', head] : [];
    const commit =
      withHistory && !dirty
        ? head
        : await gitText(folder, ['commit-tree', tree, ...parents, '-m', message], { env });
    const file = join(scratch.folder, 'repository.bundle');
    // `bundle create` wants a ref: it lives in the scratch, through a git directory that borrows the objects.
    const gitDir = join(scratch.folder, 'git');
    const bundling = { ...env, GIT_DIR: gitDir };
    await gitText(folder, ['init', '-q', '--bare', gitDir], { env: scratch.env });
    await gitText(folder, ['update-ref', 'refs/lemniscate/upload', commit], { env: bundling });
    const contents = largeFiles ? await commitLargeFiles(folder, scratch, env, maxBundleBytes) : null;
    const refs = ['refs/lemniscate/upload'];
    if (contents !== null) {
      await gitText(folder, ['update-ref', bundledLargeFilesRef, contents], { env: bundling });
      refs.push(bundledLargeFilesRef);
    }
    const made = await git(folder, ['bundle', 'create', '-q', file, ...refs], {
      env: { ...bundling, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'pack.threads', GIT_CONFIG_VALUE_0: '1' },
    });
    if (made.exitCode !== 0)
      throw new CodedError(
        'repository_broken',
        `${folder} cannot be packed: ${made.stderr.trim().slice(-800)}`,
      );
    const { size } = await stat(file);
    if (size > maxBundleBytes)
      throw new CodedError(
        'repository_too_large',
        `${folder} packs to ${size} bytes; at most ${maxBundleBytes} can be sent. Keep large files out with .gitignore or Git LFS.`,
        { bytes: size, maxBundleBytes },
      );
    const hash = createHash('sha256');
    await pipeline(createReadStream(file), hash);
    return work({ file, bytes: size, sha256: hash.digest('hex'), commit, dirty });
  });
}
