import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { bundledLargeFilesRef } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { Mirror } from '../mirror-cache.ts';
import type { ThrowawayGit } from '../throwaway-git.ts';
import { draftMark, keep, notYetThere } from './fetch-objects.ts';
import type { MissingObjects } from './fetch-objects.ts';

export interface TakeBundledOptions {
  readonly user: { readonly uid: number; readonly gid: number };
  readonly timeoutMs: number;
}

/** Writes no more than the pointers say: their sum is bounded before. */
const script = `set -e
cat >/tmp/wanted
while read -r oid size; do
  at="$REF:$oid"
  found=$(git --git-dir=/mirror/git cat-file -s "$at" 2>/dev/null) || continue
  test "$found" = "$size" || continue
  git --git-dir=/mirror/git cat-file blob "$at" >"/objects/$oid"
done </tmp/wanted`;

/**
 * Takes objects out of a mirror whose bundle brought them. git reads it inside a throwaway sandbox, and what it wrote is
 * an object only if its digest says so.
 * @throws CodedError `digest_mismatch`, `repository_broken`
 */
export async function takeBundled(
  git: ThrowawayGit,
  mirror: Mirror,
  objects: readonly LfsObject[],
  folder: string,
  { user, timeoutMs }: TakeBundledOptions,
): Promise<MissingObjects> {
  const wanted = await notYetThere(objects, folder);
  const missing = new Map<string, string>();
  if (wanted.length === 0) return missing;
  const drafts = join(folder, `bundle${draftMark}${randomUUID()}`);
  await mkdir(drafts);
  try {
    if (process.getuid?.() === 0) await chown(drafts, user.uid, user.gid);
    const run = await git({
      argv: ['/bin/sh', '-c', script],
      cwd: '/',
      mounts: [
        { source: mirror.gitDir, target: '/mirror/git', readOnly: true },
        { source: drafts, target: '/objects', readOnly: false },
      ],
      variables: { REF: bundledLargeFilesRef },
      stdin: Buffer.from(wanted.map(({ oid, size }) => `${oid} ${size}\n`).join('')),
      user,
      timeoutMs,
      maxOutputBytes: 64 * 1024,
    });
    if (run.exitCode !== 0)
      throw new CodedError(
        'repository_broken',
        `The large files of the upload cannot be read: ${run.timedOut ? 'not finished in time' : run.stderr.trim().slice(-500)}`,
      );
    for (const object of wanted)
      if (!(await keepDraft(join(drafts, object.oid), object, folder)))
        missing.set(object.oid, 'the upload does not have it');
    return missing;
  } finally {
    await rm(drafts, { recursive: true, force: true });
  }
}

/** @returns false: there is no such file */
async function keepDraft(file: string, object: LfsObject, folder: string): Promise<boolean> {
  // what runs in the sandbox might have laid a link there, or a pipe
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const draft = await open(file, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (draft === null) return false;
  try {
    await keep(draft.createReadStream({ autoClose: false }), object, folder);
  } finally {
    await draft.close();
  }
  return true;
}
