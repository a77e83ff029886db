import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { glob, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endingWithUs } from '../ending-with-us.ts';

const execute = promisify(execFile);

/** Copies of a checkout's files: laid by a rename where one lies ready, else by copying. */
export interface SpareCopies {
  /** Fills an empty folder; no process of a sandbox may have run in it. */
  lay(tree: string, folder: string, bounds: { signal: AbortSignal; timeoutMs: number }): Promise<void>;
  /** Puts one more copy aside for the next session, unless one lies there. In the background; never rejects. */
  prepare(tree: string): Promise<void>;
  /** Gives up what is being put aside, and resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** A copy of 50,000 files takes seconds; one that takes longer than this is given up. */
const prepareTimeoutMs = 120_000;

const spareOf = (tree: string): string => `${tree}.spare`;
const draftMark = '.spare-draft-';

/** Removes the copies that an earlier process left half-made below a folder of mirrors. */
export async function removeSpareDrafts(mirrors: string): Promise<void> {
  for await (const draft of glob(`*/checkout-*/*${draftMark}*`, { cwd: mirrors }))
    await rm(join(mirrors, draft), { recursive: true, force: true });
}

/**
 * Most sessions of a repository start from a commit that an earlier session started from. The copy for the next one is
 * made when a session ends, off its critical path, and laying it is a rename per entry of the top folder: the same for
 * ten files and for 50,000. A spare has never been inside any sandbox. One is kept per checkout, so the cost is one
 * more copy of the files on disk.
 */
export function createSpareCopies(onFailure: (error: unknown) => void): SpareCopies {
  const stopping = new AbortController();
  const preparing = new Map<string, Promise<void>>();

  const take = async (tree: string, folder: string): Promise<boolean> => {
    const claimed = `${tree}${draftMark}${randomUUID()}`;
    try {
      // the rename decides who gets it
      await rename(spareOf(tree), claimed);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    try {
      for (const name of await readdir(claimed)) await rename(join(claimed, name), join(folder, name));
      await rmdir(claimed);
      return true;
    } catch (error) {
      await rm(claimed, { recursive: true, force: true });
      // the first rename already tells that the folder lies on another file system: nothing has moved
      if ((error as NodeJS.ErrnoException).code === 'EXDEV') return false;
      throw error;
    }
  };

  const copy = async (tree: string, folder: string, bounds: { signal?: AbortSignal; timeout: number }) => {
    // cp -a follows no link and keeps owner, times and modes
    await execute(...endingWithUs('cp', ['-a', '--reflink=auto', '--', `${tree}/.`, folder]), bounds);
  };

  const putAside = async (tree: string): Promise<void> => {
    const draft = `${tree}${draftMark}${randomUUID()}`;
    try {
      await execute(...endingWithUs('cp', ['-a', '--reflink=auto', '--', tree, draft]), {
        timeout: prepareTimeoutMs,
        signal: stopping.signal,
      });
      // onto a spare that is there already this fails, and the draft goes
      await rename(draft, spareOf(tree));
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      const isThere = ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!isThere && !stopping.signal.aborted) onFailure(error);
    }
  };

  return {
    async lay(tree, folder, { signal, timeoutMs: timeout }) {
      if (await take(tree, folder)) return;
      await copy(tree, folder, { signal, timeout });
    },
    prepare(tree) {
      const underWay = preparing.get(tree);
      if (underWay !== undefined) return underWay;
      const work = putAside(tree).finally(() => preparing.delete(tree));
      preparing.set(tree, work);
      return work;
    },
    async close() {
      stopping.abort();
      await Promise.all(preparing.values());
    },
  };
}
