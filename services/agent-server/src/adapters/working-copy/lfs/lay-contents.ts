import { chmod } from 'node:fs/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parseLfsPointer } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { LargeFileMode, LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { SandboxMount, ThrowawayResult } from '../../../application/ports/sandbox-driver.ts';
import type { ThrowawayGit } from '../throwaway-git.ts';
import { cleanFilter } from './clean-filter.ts';
import type { MissingObjects } from './fetch-objects.ts';

/** How a checkout gets the contents of large files. */
export interface LargeFiles {
  readonly mode: LargeFileMode;
  /** Holds an object a file, named by its id. */
  readonly folder: string;
  /** What a person does about contents that are nowhere; a sentence's first half. */
  readonly remedy: string;
  readonly bring: (objects: readonly LfsObject[]) => Promise<MissingObjects>;
}

interface LargeFile extends LfsObject {
  readonly path: Buffer;
}

interface LayContentsOptions {
  readonly name: string;
  readonly mounts: readonly SandboxMount[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

const maxFiles = 10_000;
const maxListBytes = 32 * 1024 * 1024;
/** In a message and in a notice. */
const maxNamed = 20;

/** The files with the attribute, and the texts of those that may be pointers. Only git reads attributes as git does. */
const listScript = `set -e
export GIT_DIR=/checkout/git GIT_WORK_TREE=/checkout/tree
cd /checkout/tree
git ls-files -s -z ':(attr:filter=lfs)' >/tmp/files
wc -c </tmp/files
cat /tmp/files
cut -z -d ' ' -f 2 /tmp/files | tr '\\0' '\\n' | sort -u | git cat-file --batch-check='%(objectsize) %(objectname)' |
  awk '$1 < 1024 { print $2 }' | git cat-file --batch`;

/**
 * The index keeps the pointers: they are what the commit has. Named to \`update-index\`, the laid files are entered with
 * the pointers that the filter makes of them, which are the same; from then on they are unchanged. The pause is for
 * entries as young as the index, which would be compared at each diff.
 */
const layScript = `set -e
cat >/tmp/laid
cd /checkout/tree
xargs -0 -r -n 200 sh -c 'while test $# -gt 1; do cat "/lfs/$1" >"./$2" || exit 255; shift 2; done' sh </tmp/laid
sed -z -n 'n;p' /tmp/laid >/tmp/paths
sleep 1
git --git-dir=/checkout/git --work-tree=/checkout/tree -c "filter.lfs.clean=$CLEAN" update-index -z --stdin </tmp/paths
git config filter.lfs.clean "$CLEAN"
git update-index -z --stdin </tmp/paths`;

/**
 * Lays the contents of large files over their pointers in a fresh checkout.
 * @returns what stays a pointer and why, in the words of a notice
 * @throws CodedError `large_file_missing`, `repository_too_large`, `repository_broken`
 */
export async function layContents(
  git: ThrowawayGit,
  large: LargeFiles,
  options: LayContentsOptions,
): Promise<string[]> {
  const { name, mounts, user, timeoutMs, maxBytes } = options;
  const sandbox = { cwd: '/', user, timeoutMs, maxOutputBytes: maxListBytes };
  const listed = await git({ ...sandbox, argv: ['/bin/sh', '-c', listScript], mounts });
  if (listed.truncated) throw tooMany(name);
  const files = readList(ended(name, listed));
  if (files.length > maxFiles) throw tooMany(name);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes)
    throw new CodedError(
      'repository_too_large',
      `The large files of ${name} have ${bytes} bytes, more than the ${maxBytes} that this server takes.`,
      { maxBytes },
    );
  if (files.length === 0) return [];
  const missing = await large.bring(files);
  const left = files.flatMap(({ oid, path }) => {
    const reason = missing.get(oid);
    return reason === undefined ? [] : [`${path.toString('utf8')} (sha256:${oid}: ${reason})`];
  });
  const told = left.slice(0, maxNamed);
  if (left.length > maxNamed) told.push(`and ${left.length - maxNamed} more`);
  if (left.length > 0 && large.mode === 'required')
    throw new CodedError(
      'large_file_missing',
      `${name} lacks the contents of large files: ${told.join(', ')}. ${large.remedy}, or let sessions begin without: \`repository: {lfs: available}\` in the project's policy.`,
    );
  const laid = files.filter(({ oid }) => !missing.has(oid));
  await chmod(large.folder, 0o755);
  ended(
    name,
    await git({
      ...sandbox,
      argv: ['/bin/sh', '-c', layScript],
      mounts: [...mounts, { source: large.folder, target: '/lfs', readOnly: true }],
      variables: { CLEAN: cleanFilter },
      stdin: Buffer.concat(laid.map(({ oid, path }) => Buffer.concat([Buffer.from(`${oid}\0`), path, nul]))),
    }),
  );
  return told;
}

const nul = Buffer.from([0]);

/** Both parts of the list: `mode id stage<tab>path` ended by zeros, and then `id blob size`, text and a line end. */
function readList(output: Buffer): LargeFile[] {
  const line = output.indexOf('\n');
  const end = line + 1 + Number(output.subarray(0, line).toString('latin1'));
  const pointers = new Map<string, LfsObject>();
  for (let at = end; at < output.length;) {
    const head = output.indexOf('\n', at);
    const [blob = '', , size = '0'] = output.subarray(at, head).toString('latin1').split(' ');
    const object = parseLfsPointer(output.subarray(head + 1, head + 1 + Number(size)).toString('utf8'));
    if (object !== null) pointers.set(blob, object);
    at = head + 1 + Number(size) + 1;
  }
  const files: LargeFile[] = [];
  for (let at = line + 1; at < end;) {
    const next = output.indexOf(0, at);
    const tab = output.indexOf('\t', at);
    const [mode = '', blob = ''] = output.subarray(at, tab).toString('latin1').split(' ');
    const object = pointers.get(blob);
    if (object !== undefined && mode.startsWith('100'))
      files.push({ ...object, path: Buffer.from(output.subarray(tab + 1, next)) });
    at = next + 1;
  }
  return files;
}

function ended(name: string, run: ThrowawayResult): Buffer {
  if (run.exitCode === 0) return run.stdout;
  const detail = run.timedOut ? 'not finished in time' : run.stderr.trim().slice(-500);
  throw new CodedError('repository_broken', `The large files of ${name} cannot be laid out: ${detail}`);
}

function tooMany(name: string): CodedError {
  return new CodedError(
    'repository_too_large',
    `${name} has more than ${maxFiles} large files, which is more than this server lays out.`,
    { maxFiles },
  );
}
