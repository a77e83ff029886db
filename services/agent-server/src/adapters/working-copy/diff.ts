import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { WorkingCopyDiff } from '../../application/ports/working-copies.ts';
import type { Checkout } from './checkout.ts';
import { parseDiffSummary } from './diff-parse.ts';
import type { Mirror } from './mirror-cache.ts';
import type { ThrowawayGit } from './throwaway-git.ts';

const execute = promisify(execFile);

/** Options of every diff that we show or apply: nothing of the repository's configuration takes part. */
const diffOptions = [
  '--cached',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '-M',
  '--src-prefix=a/',
  '--dst-prefix=b/',
];

/** A patch past this is refused: a person could not review it, and no browser or terminal would show it. */
const maxPatchBytes = 512 * 1024 * 1024;

/**
 * Makes the diff of a workspace whose processes are gone. The index starts from the checkout's, the new objects go to
 * a git directory of this session alone, the workspace is read-only, and all of it happens in throwaway sandboxes,
 * because the files are hostile to the git that reads them.
 */
export async function makeDiff(
  git: ThrowawayGit,
  input: {
    mirror: Mirror;
    checkout: Checkout;
    workspace: string;
    spool: string;
    user: { uid: number; gid: number };
    timeoutMs: number;
  },
): Promise<WorkingCopyDiff> {
  const gitDir = join(input.spool, 'git');
  await mkdir(input.spool, { recursive: true });
  await chmod(input.spool, 0o755);
  await execute('cp', ['-a', '--', input.checkout.gitDir, gitDir]);
  if (process.getuid?.() === 0) await chown(gitDir, input.user.uid, input.user.gid);
  const common = {
    cwd: '/workspace',
    mounts: [
      { source: input.mirror.gitDir, target: '/mirror/git', readOnly: true },
      { source: gitDir, target: '/git', readOnly: false },
      { source: input.workspace, target: '/workspace', readOnly: true },
    ],
    variables: { GIT_DIR: '/git', GIT_WORK_TREE: '/workspace' },
    user: input.user,
    timeoutMs: input.timeoutMs,
  };
  const tree = input.checkout.baseTree;
  const script = `git add -A --ignore-errors -- . 2>/tmp/unreadable; added=$?
test $added -eq 0 || { head -c 2000 /tmp/unreadable >&2; test $added -eq 1 || exit $added; }
exec git diff ${diffOptions.join(' ')} --raw --numstat -z ${tree}`;
  const listed = await git({
    ...common,
    argv: ['/bin/sh', '-c', script],
    maxOutputBytes: 64 * 1024 * 1024,
  });
  if (listed.exitCode !== 0 || listed.truncated)
    throw unreadable(listed.timedOut, listed.stderr, input.timeoutMs);
  const files = parseDiffSummary(listed.stdout);

  const patchFile = join(input.spool, 'patch');
  const hash = createHash('sha256');
  let bytes = 0;
  const stdout = new PassThrough();
  const written = pipeline(
    stdout,
    async function* measure(source) {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(patchFile, { mode: 0o600 }),
  );
  const [patched] = await Promise.all([
    git({
      ...common,
      argv: ['git', 'diff', ...diffOptions, '--binary', '--full-index', tree],
      stdout,
      maxOutputBytes: maxPatchBytes,
    }).finally(() => stdout.end()),
    written,
  ]);
  if (patched.exitCode !== 0 || patched.truncated)
    throw unreadable(patched.timedOut, patched.stderr, input.timeoutMs);
  const sum = (of: 'insertions' | 'deletions') => files.reduce((total, file) => total + (file[of] ?? 0), 0);
  return {
    summary: {
      sha256: hash.digest('hex'),
      bytes,
      baseCommit: input.checkout.baseCommit,
      baseTree: tree,
      files,
      insertions: sum('insertions'),
      deletions: sum('deletions'),
    },
    patchFile,
    notices: listed.stderr.trim() === '' ? [] : [`git could not take every file: ${listed.stderr.trim()}`],
  };
}

function unreadable(timedOut: boolean, stderr: string, timeoutMs: number): CodedError {
  const detail = timedOut
    ? `not finished after ${timeoutMs} ms`
    : stderr.trim().slice(-500) || 'the diff is too large';
  return new CodedError('repository_broken', `The diff of the working copy could not be made: ${detail}`);
}
