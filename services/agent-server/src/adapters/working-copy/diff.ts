import { createWriteStream } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { WorkingCopyDiff } from '../../application/ports/working-copies.ts';
import type { Checkout } from './checkout.ts';
import { createDiffSplitter } from './diff-output.ts';
import { parseDiffSummary } from './diff-parse.ts';
import type { Mirror } from './mirror-cache.ts';
import type { ThrowawayGit } from './throwaway-git.ts';

/** Options of every diff that we show or apply: nothing of the repository's configuration takes part. */
const diffOptions = '--cached --no-ext-diff --no-textconv --no-color -M --src-prefix=a/ --dst-prefix=b/';

/** A patch past this is refused: a person could not review it, and no browser or terminal would show it. */
const maxPatchBytes = 512 * 1024 * 1024;

/**
 * A file past this is left out of the diff and told: git holds both sides of a binary in memory and fails as a whole at
 * two gigabytes, which one `truncate` of an agent would make of everybody's work.
 */
const maxFileMebibytes = 256;

/**
 * Index, list of changes and patch in one run: a second sandbox would cost as much as the diff of a small repository.
 * The index starts from the checkout's; git writes into this session's folder alone. `add` ends with 1 when it could
 * not take every file; what it says then is told, and the diff goes on without them.
 *
 * git does not trust an entry of a file that is as young, in seconds, as the index: `add` takes it for changed, and since
 * it cannot touch the mirror's packs it writes the file's object anew. Of 50,000 files laid out in 4 s those were 10,000,
 * and 6 s of each diff. `update-index` compares such files and writes an index that is younger than they are;
 * beside the look for large files, since each of the two asks for every file once.
 */
const script = `mkdir /git/objects || exit
cp -p /checkout/git/index /git/index || exit
git update-index -q --refresh >/tmp/stale 2>&1 & # ends with 1 where anything has changed, which is no fault
echo . | tr '\\n' '\\0' >/tmp/paths
find . -path ./.git -prune -o -type f -size +${maxFileMebibytes}M -printf ':(exclude,literal)%P\\0' 2>/dev/null >/tmp/large
wait
cat /tmp/large /git/excluded >>/tmp/paths
git add -A --ignore-errors --pathspec-from-file=/tmp/paths --pathspec-file-nul 2>/tmp/unreadable; added=$?
test -s /tmp/large && { printf 'larger than ${maxFileMebibytes} MiB, left out: '; tr '\\0' ' ' </tmp/large | sed 's/:(exclude,literal)//g' | head -c 2000; echo; } >&2
test $added -eq 0 || { head -c 2000 /tmp/unreadable >&2; test $added -eq 1 || exit $added; }
git diff ${diffOptions} --raw --numstat -z "$BASE" >/tmp/changes || exit
wc -c </tmp/changes
cat /tmp/changes
exec git diff ${diffOptions} --binary --full-index "$BASE"`;

/**
 * Makes the diff of a workspace whose processes are gone. The workspace is read-only and all of it happens in a
 * throwaway sandbox, because the files are hostile to the git that reads them.
 */
export async function makeDiff(
  git: ThrowawayGit,
  input: {
    mirror: Mirror;
    checkout: Checkout;
    workspace: string;
    /** Paths that are no part of anybody's work. */
    excluded: readonly string[];
    spool: string;
    user: { uid: number; gid: number };
    timeoutMs: number;
  },
): Promise<WorkingCopyDiff> {
  const ownDir = join(input.spool, 'git');
  // A checkpoint may have made an earlier one.
  await rm(ownDir, { recursive: true, force: true });
  await mkdir(ownDir, { recursive: true });
  await chmod(input.spool, 0o755);
  await writeFile(
    join(ownDir, 'excluded'),
    input.excluded.map((path) => `:(exclude,literal)${path}\0`).join(''),
    { mode: 0o644 },
  );
  if (process.getuid?.() === 0) await chown(ownDir, input.user.uid, input.user.gid);
  const patchFile = join(input.spool, 'patch');
  const { baseCommit, baseTree } = input.checkout;
  const splitter = createDiffSplitter();
  const stdout = new PassThrough();
  const written = pipeline(stdout, splitter.stream, createWriteStream(patchFile, { mode: 0o600 }));
  const ran = git({
    argv: ['/bin/sh', '-c', script],
    cwd: '/workspace',
    mounts: [
      { source: input.mirror.gitDir, target: '/mirror/git', readOnly: true },
      { source: input.checkout.gitDir, target: '/checkout/git', readOnly: true },
      { source: ownDir, target: '/git', readOnly: false },
      { source: input.workspace, target: '/workspace', readOnly: true },
    ],
    variables: {
      GIT_DIR: '/checkout/git',
      GIT_WORK_TREE: '/workspace',
      GIT_INDEX_FILE: '/git/index',
      GIT_OBJECT_DIRECTORY: '/git/objects',
      GIT_ALTERNATE_OBJECT_DIRECTORIES: '/mirror/git/objects',
      BASE: baseTree,
    },
    user: input.user,
    timeoutMs: input.timeoutMs,
    stdout,
    maxOutputBytes: maxPatchBytes,
  }).finally(() => stdout.end());
  const [run] = await Promise.all([ran, written]);
  if (run.exitCode !== 0 || run.truncated) throw unreadable(run.timedOut, run.stderr, input.timeoutMs);
  const { changes, sha256, bytes } = splitter.result();
  const files = parseDiffSummary(changes);
  const sum = (of: 'insertions' | 'deletions') => files.reduce((total, file) => total + (file[of] ?? 0), 0);
  return {
    summary: {
      sha256,
      bytes,
      baseCommit,
      baseTree,
      files,
      insertions: sum('insertions'),
      deletions: sum('deletions'),
    },
    patchFile,
    notices: run.stderr.trim() === '' ? [] : [`git could not take every file: ${run.stderr.trim()}`],
  };
}

function unreadable(timedOut: boolean, stderr: string, timeoutMs: number): CodedError {
  const detail = timedOut
    ? `not finished after ${timeoutMs} ms`
    : stderr.trim().slice(-500) || 'the diff is too large';
  return new CodedError('repository_broken', `The diff of the working copy could not be made: ${detail}`);
}
