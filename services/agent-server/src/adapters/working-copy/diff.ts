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
import { cleanFilter } from './lfs/clean-filter.ts';
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

/** `add` compares each path that it is given with each file of the index: past this it is quicker with all of them. */
const maxNamedPaths = 200;

/**
 * Index, list of changes and patch in one run: a second sandbox would cost as much as the diff of a small repository.
 * The index starts from the checkout's; git writes into this session's folder alone.
 *
 * One pass asks for every file: `status`, which does it in several threads. What follows looks at the changed ones only.
 * Where git cannot take exactly those, it is given everything: that is slower and knows how to go on without some.
 * `add` ends with 1 when it could not take every file; what it says then is told, and the diff goes on without them.
 *
 * git does not trust an entry of a file that is as young, in seconds, as the index: `add` of everything takes it for
 * changed, and since it cannot touch the mirror's packs it writes the file's object anew. Of 50,000 files laid out in 4 s
 * those were 10,000, and 6 s of each diff. `status` compares such files, and writes an index that is younger than they
 * are: hence the locks, which all else does without.
 *
 * A large file is compared by its pointer, which the index has; a changed one leaves with its contents, since a pointer
 * would name contents that nobody has.
 */
const script = `mkdir /git/objects || exit
compared() { git \${CLEAN:+-c} \${CLEAN:+"filter.lfs.clean=$CLEAN"} "$@"; }
cp -p /checkout/git/index /git/index || exit
: >/tmp/unsure
{ GIT_OPTIONAL_LOCKS=1 compared status --porcelain -z --untracked-files=all --no-renames --ignore-submodules=dirty 2>/tmp/unseen && rm /tmp/unsure; } | cut -z -b 4- >/tmp/changed || : >/tmp/unsure
large='-type f -size +${maxFileMebibytes}M -printf %p\\0'
if test -e /tmp/unsure; then
  : >/tmp/changed
  compared update-index -q --refresh >/dev/null 2>&1
  find . -path ./.git -prune -o $large
else
  sed -z 's|^|./|' /tmp/changed | xargs -0 -r sh -c 'large=$1; shift; find "$@" -maxdepth 0 $large' sh "$large"
fi 2>/dev/null | cut -z -b 3- >/tmp/large
sed -z 's/^/:(exclude,literal)/' /tmp/large | cat - /git/excluded >/tmp/without
take() { cat - /tmp/without >/tmp/paths; git add -A --ignore-errors --pathspec-from-file=/tmp/paths --pathspec-file-nul 2>/tmp/unreadable; }
named=$(head -z -n ${maxNamedPaths + 1} /tmp/changed | tr -cd '\\0' | wc -c)
added=1
if test -e /tmp/unsure || test $named -gt ${maxNamedPaths}; then :
elif test $named -eq 0; then added=0
else sed -z 's/^/:(literal)/' /tmp/changed | take; added=$?
fi
test $added -eq 0 || { printf '.\\0' | take; added=$?; }
test -e /tmp/unsure || head -c 2000 /tmp/unseen >&2
test -s /tmp/large && { printf 'larger than ${maxFileMebibytes} MiB, left out: '; tr '\\0' ' ' </tmp/large | head -c 2000; echo; } >&2
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
  const { baseCommit, baseTree, pointers } = input.checkout;
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
      ...(pointers === null ? {} : { CLEAN: cleanFilter }),
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
