import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import { layContents } from './lfs/lay-contents.ts';
import type { LargeFiles } from './lfs/lay-contents.ts';
import type { Mirror } from './mirror-cache.ts';
import type { ThrowawayGit } from './throwaway-git.ts';

/** One commit laid out once per mirror and user; every session gets a copy of `tree`. */
export interface Checkout {
  /** The files, with an own small `.git` for the agent's use. Owned by the commands' user. */
  readonly tree: string;
  /** Index and configuration of the host's own git directory, which no session's sandbox sees. */
  readonly gitDir: string;
  readonly baseCommit: string;
  readonly baseTree: string;
  readonly submodules: readonly string[];
  /** Large files without their contents, in the words of a notice; null: contents were not asked for. */
  readonly pointers: readonly string[] | null;
}

const factsSchema = z.object({
  baseTree: z.string(),
  submodules: z.array(z.string()),
  pointers: z.array(z.string()).nullable().default(null),
});

/** History that the agent's own `.git` carries: enough for log and blame, cheap to copy for every session. */
const historyDepth = 50;

/** What a hundred bytes of repository may become is without a bound: trees that hold the same tree ten times, ten deep. */
const tooLargeCode = 9;

/**
 * git trusts no entry of a file that is as young, in seconds, as its index, and would compare those at each diff: 1.2 s of
 * 50,000 files, laid out in 4 s. Where they are many, the index is written once more in a later second,
 * which costs that second once a commit.
 */
const manyFiles = 10_000;

// `git reset` gives the agent's index the stat data of the files just written, so that its first `git status` is cheap.
const script = `set -e
git init -q --bare /checkout/git
git --git-dir=/checkout/git config core.bare false
echo /mirror/git/objects > /checkout/git/objects/info/alternates
over=$(git --git-dir=/mirror/git ls-tree -r -l --full-tree "$COMMIT" |
  awk -v files="$FILES" -v bytes="$BYTES" 'NR > files || (sum += $4) > bytes { print "over"; exit }')
test -z "$over" || exit ${tooLargeCode}
export GIT_DIR=/checkout/git GIT_WORK_TREE=/checkout/tree
git checkout -q -f --detach "$COMMIT"
test "$(git ls-files | head -n ${manyFiles} | wc -l)" -lt ${manyFiles} || { sleep 1; git update-index -q --refresh; }
unset GIT_DIR GIT_WORK_TREE
git init -q /checkout/tree
cd /checkout/tree
git config user.name 'Lemniscate agent'
git config user.email agent@lemniscate.invalid
git fetch -q --update-head-ok --no-tags --no-write-fetch-head --depth="$HISTORY" --update-shallow file:///mirror/git "+refs/lemniscate/base-$COMMIT:refs/heads/main"
git reset -q
git --git-dir=/mirror/git rev-parse "$COMMIT^{tree}"
git --git-dir=/mirror/git ls-tree -r -z --full-tree "$COMMIT" | grep -z '^160000 ' | cut -z -f2- || true`;

interface CheckoutOptions {
  readonly user: { readonly uid: number; readonly gid: number };
  readonly timeoutMs: number;
  readonly name: string;
  /** Of all files together. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  /** The mirror has the files of no other commit. */
  readonly onlyThisCommit: boolean;
  /** Absent: their pointers are laid. */
  readonly largeFiles?: LargeFiles;
}

async function make(
  git: ThrowawayGit,
  mirror: Mirror,
  commit: string,
  folder: string,
  options: CheckoutOptions,
): Promise<void> {
  for (const part of ['git', 'tree']) {
    await mkdir(join(folder, part), { recursive: true });
    if (process.getuid?.() === 0) await chown(join(folder, part), options.user.uid, options.user.gid);
  }
  await chmod(folder, 0o755);
  const mounts = [
    { source: mirror.gitDir, target: '/mirror/git', readOnly: true },
    { source: join(folder, 'git'), target: '/checkout/git', readOnly: false },
    { source: join(folder, 'tree'), target: '/checkout/tree', readOnly: false },
  ];
  const run = await git({
    argv: ['/bin/sh', '-c', script],
    cwd: '/',
    mounts,
    protocols: ['file'],
    variables: {
      COMMIT: commit,
      HISTORY: String(options.onlyThisCommit ? 1 : historyDepth),
      FILES: String(options.maxFiles),
      BYTES: String(options.maxBytes),
    },
    user: options.user,
    timeoutMs: options.timeoutMs,
    maxOutputBytes: 4 * 1024 * 1024,
  });
  if (run.exitCode === tooLargeCode)
    throw new CodedError(
      'repository_too_large',
      `Commit ${commit} of ${options.name} has more than ${options.maxFiles} files or ${options.maxBytes} bytes, which is more than this server lays out.`,
      { maxFiles: options.maxFiles, maxBytes: options.maxBytes },
    );
  if (run.exitCode !== 0) {
    const detail = run.timedOut
      ? `not finished after ${options.timeoutMs} ms`
      : run.stderr.trim().slice(-500);
    throw new CodedError(
      'repository_broken',
      `Commit ${commit} of ${options.name} cannot be laid out: ${detail}`,
    );
  }
  const [treeLine = '', ...rest] = run.stdout.toString('utf8').split('\n');
  const submodules = rest
    .join('\n')
    .split('\0')
    .filter((path) => path !== '');
  const pointers =
    options.largeFiles === undefined
      ? null
      : await layContents(git, options.largeFiles, { ...options, mounts });
  await writeFile(
    join(folder, 'facts.json'),
    JSON.stringify({ baseTree: treeLine.trim(), submodules, pointers }),
  );
}

/**
 * The checkout of a commit, made on first use.
 * @throws CodedError `repository_broken`, `repository_too_large`, `large_file_missing`
 */
export async function ensureCheckout(
  git: ThrowawayGit,
  mirror: Mirror,
  commit: string,
  options: CheckoutOptions,
): Promise<Checkout> {
  const large = options.largeFiles === undefined ? '' : `-lfs-${options.largeFiles.mode}`;
  const folder = join(mirror.folder, `checkout-${commit}-${options.user.uid}${large}`);
  const read = () => readFile(join(folder, 'facts.json'), 'utf8');
  let text = await read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) {
    const making = `${folder}.making`;
    await rm(making, { recursive: true, force: true });
    await mkdir(making, { recursive: true });
    try {
      await make(git, mirror, commit, making, options);
      await rename(making, folder);
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      throw error;
    }
    text = await read();
  }
  const facts = factsSchema.parse(JSON.parse(text));
  return { tree: join(folder, 'tree'), gitDir: join(folder, 'git'), baseCommit: commit, ...facts };
}
