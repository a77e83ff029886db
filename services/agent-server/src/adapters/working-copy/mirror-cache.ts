import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createKeyedLock } from './keyed-lock.ts';

/** One cached repository: a bare git directory that only host and throwaway sandboxes ever see. */
export interface Mirror {
  readonly folder: string;
  readonly gitDir: string;
}

/** Fills or refreshes a mirror below a folder; `fresh` says that the folder is new and empty. */
export type FillMirror = (mirror: Mirror, fresh: boolean) => Promise<void>;

export interface MirrorCache {
  /** Serialised per mirror; a fill that fails leaves the mirror as it was, or none. */
  use<Result>(key: string, fill: FillMirror, work: (mirror: Mirror) => Promise<Result>): Promise<Result>;
  /** Keeps a mirror from being evicted, for a session whose diff will need it; the answer lets go, once. */
  hold(key: string): () => void;
  /** Removes half-made mirrors of an earlier process. */
  recover(): Promise<void>;
  /** Keys of the mirrors that are there. */
  keys(): string[];
}

/**
 * @param maxMirrors mirrors kept beyond the one in use; the longest unused go first. A count and not bytes, because
 * `du` over a cache costs seconds and every source has its own size bound.
 */
export function createMirrorCache(root: string, maxMirrors: number): MirrorCache {
  const lock = createKeyedLock();
  const inUse = new Map<string, number>();
  const whole = new Set<string>();
  const half = '.making-';

  const hold = (key: string): (() => void) => {
    inUse.set(key, (inUse.get(key) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (inUse.get(key) ?? 1) - 1;
      if (left === 0) inUse.delete(key);
      else inUse.set(key, left);
    };
  };

  const evict = async (): Promise<void> => {
    const names = (await readdir(root)).filter((name) => !name.startsWith(half));
    if (names.length <= maxMirrors) return;
    const ages = await Promise.all(
      names.map(async (name) => ({ name, usedAt: (await stat(join(root, name))).mtimeMs })),
    );
    const oldest = ages.sort((one, other) => one.usedAt - other.usedAt).slice(0, names.length - maxMirrors);
    for (const { name } of oldest) {
      if ((inUse.get(name) ?? 0) > 0) continue;
      whole.delete(name);
      await lock(name, () => rm(join(root, name), { recursive: true, force: true }));
    }
  };

  const prepare = async (key: string, fill: FillMirror): Promise<Mirror> => {
    const folder = join(root, key);
    const mirror = { folder, gitDir: join(folder, 'git') };
    const known = await stat(folder).then(
      () => true,
      () => false,
    );
    if (known) {
      await fill(mirror, false);
      await utimes(folder, new Date(), new Date());
      return mirror;
    }
    const making = join(root, `${half}${key}-${randomUUID()}`);
    await mkdir(making, { recursive: true });
    try {
      await fill({ folder: making, gitDir: join(making, 'git') }, true);
      await rename(making, folder);
      whole.add(key);
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      throw error;
    }
    await evict();
    return mirror;
  };

  return {
    async use(key, fill, work) {
      const release = hold(key);
      try {
        await mkdir(root, { recursive: true });
        return await lock(key, async () => work(await prepare(key, fill)));
      } finally {
        release();
      }
    },
    hold,
    async recover() {
      await mkdir(root, { recursive: true });
      const names = await readdir(root);
      const halves = names.filter((name) => name.startsWith(half));
      for (const name of names) if (!name.startsWith(half)) whole.add(name);
      await Promise.all(halves.map((name) => rm(join(root, name), { recursive: true, force: true })));
    },
    keys: () => [...whole],
  };
}
