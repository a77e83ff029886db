import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parseLfsPointer } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { git, gitText } from './git.ts';
import type { Scratch } from './scratch.ts';

/** Bytes; git-lfs writes pointers far below. */
const maxPointerBytes = 1024;

/**
 * Makes a commit in the scratch that has the contents of the large files of the working tree, as far as git-lfs has them
 * on this machine: an object a file, named by its id.
 * @param env with fixed dates, so that the same objects make the same commit
 * @returns null where there is none
 * @throws CodedError `repository_too_large` when together they have more than `maxBytes`
 */
export async function commitLargeFiles(
  folder: string,
  scratch: Scratch,
  env: Readonly<Record<string, string>>,
  maxBytes: number,
): Promise<string | null> {
  const storage = await storageOf(folder);
  const here: { readonly oid: string; readonly file: string }[] = [];
  let bytes = 0;
  for (const { oid, size } of await pointersOf(folder, scratch)) {
    const file = join(storage, 'objects', oid.slice(0, 2), oid.slice(2, 4), oid);
    if ((await sizeOf(file)) !== size) continue;
    here.push({ oid, file });
    bytes += size;
  }
  if (bytes > maxBytes)
    throw new CodedError(
      'repository_too_large',
      `The large files of ${folder} have ${bytes} bytes; at most ${maxBytes} can be sent. Let the project's policy name none (\`repository: {lfs}\`), or open the session on the repository's own address.`,
      { bytes, maxBytes },
    );
  if (here.length === 0) return null;
  const hashed = await gitText(folder, ['hash-object', '-w', '--no-filters', '--stdin-paths'], {
    env,
    stdin: Buffer.from(here.map(({ file }) => `${file}\n`).join('')),
  });
  const blobs = hashed.split('\n');
  const entries = here.map(({ oid }, index) => `100644 blob ${blobs[index] ?? ''}\t${oid}\n`);
  const tree = await gitText(folder, ['mktree'], { env, stdin: Buffer.from(entries.join('')) });
  return gitText(folder, ['commit-tree', tree, '-m', 'Large files'], { env });
}

/** What the pointers in the scratch's index stand for, each once, by their ids. */
async function pointersOf(folder: string, { env }: Scratch): Promise<readonly LfsObject[]> {
  const listed = await gitText(folder, ['ls-files', '-s', '-z', ':(attr:filter=lfs)'], { env });
  const blobs = new Set(
    listed
      .split('\0')
      .filter((line) => line.startsWith('100'))
      .map((line) => line.split(' ')[1] ?? ''),
  );
  if (blobs.size === 0) return [];
  const sizes = await gitText(folder, ['cat-file', '--batch-check=%(objectname) %(objectsize)'], {
    env,
    stdin: Buffer.from([...blobs].map((blob) => `${blob}\n`).join('')),
  });
  const small = sizes
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, size]) => Number(size) < maxPointerBytes)
    .map(([blob]) => `${blob}\n`);
  const read = await git(folder, ['cat-file', '--batch=%(objectsize)'], {
    env,
    stdin: Buffer.from(small.join('')),
  });
  const found = new Map<string, LfsObject>();
  for (let at = 0; at < read.stdout.length;) {
    const line = read.stdout.indexOf('\n', at);
    const end = line + 1 + Number(read.stdout.toString('latin1', at, line));
    const object = parseLfsPointer(read.stdout.toString('utf8', line + 1, end));
    if (object !== null) found.set(object.oid, object);
    at = end + 1;
  }
  return [...found.values()].toSorted((left, right) => (left.oid < right.oid ? -1 : 1));
}

/** Where git-lfs keeps objects: below the repository that all its work trees share, or where it is told. */
async function storageOf(folder: string): Promise<string> {
  const common = await gitText(folder, ['rev-parse', '--path-format=absolute', '--git-common-dir']);
  const told = await git(folder, ['config', '--type=path', 'lfs.storage']);
  const storage = told.exitCode === 0 ? told.stdout.toString('utf8').trim() : 'lfs';
  return isAbsolute(storage) ? storage : join(common, storage);
}

/** Null where there is no such file. */
async function sizeOf(file: string): Promise<number | null> {
  return stat(file).then(
    (found) => (found.isFile() ? found.size : null),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );
}
