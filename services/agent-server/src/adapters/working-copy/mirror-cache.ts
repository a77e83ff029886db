import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { glob, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKeyedLock } from './keyed-lock.ts';

const execute = promisify(execFile);

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
  /** Removes what is beyond the bounds, off anybody's critical path. @returns what was removed */
  tidy(): Promise<string[]>;
  /** Removes half-made mirrors of an earlier process. */
  recover(): Promise<void>;
  /** Keys of the mirrors that are there. */
  keys(): string[];
}

/** What the cache may grow to. Mirrors in use stay whatever the bounds say; the longest unused go first. */
export interface MirrorBounds {
  readonly maxMirrors: number;
  /** Of all mirrors with their checkouts. */
  readonly maxBytes: number;
  /** A mirror that nobody used for so long goes. */
  readonly maxAgeMs: number;
}

export function createMirrorCache(root: string, bounds: MirrorBounds): MirrorCache {
  const sizes = createSizes();
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

  const tidy = async (): Promise<string[]> => {
    await mkdir(root, { recursive: true });
    const names = (await readdir(root)).filter((name) => !name.startsWith(half));
    const mirrors: { name: string; usedAt: number; bytes: number }[] = [];
    for (const name of names) {
      const usedAt = (await stat(join(root, name))).mtimeMs;
      mirrors.push({ name, usedAt, bytes: await sizes.of(join(root, name), usedAt) });
    }
    const removed: string[] = [];
    let left = mirrors.length;
    let bytes = mirrors.reduce((sum, mirror) => sum + mirror.bytes, 0);
    for (const mirror of mirrors.sort((one, other) => one.usedAt - other.usedAt)) {
      const old = Date.now() - mirror.usedAt > bounds.maxAgeMs;
      if (!old && left <= bounds.maxMirrors && bytes <= bounds.maxBytes) continue;
      const gone = await lock(mirror.name, async () => {
        // Looked at under the lock: whoever comes later waits, and finds none.
        if ((inUse.get(mirror.name) ?? 0) > 0) return false;
        whole.delete(mirror.name);
        await rm(join(root, mirror.name), { recursive: true, force: true });
        return true;
      });
      if (!gone) continue;
      sizes.forget(join(root, mirror.name));
      removed.push(mirror.name);
      left -= 1;
      bytes -= mirror.bytes;
    }
    return removed;
  };

  const prepare = async (key: string, fill: FillMirror): Promise<Mirror> => {
    const folder = join(root, key);
    const mirror = { folder, gitDir: join(folder, 'git') };
    const known = await stat(folder).then(
      () => true,
      () => false,
    );
    if (known) {
      await refresh(mirror, fill);
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
    tidy,
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

/**
 * A git that was killed, with its server or for its time, leaves its locks, and every later one would stop at them. Only
 * one git at a time writes a mirror, so after a fill without an end the locks in it are nobody's.
 */
async function refresh(mirror: Mirror, fill: FillMirror): Promise<void> {
  const mark = join(mirror.folder, 'filling');
  const unfinished = await stat(mark).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
  if (unfinished)
    for await (const left of glob(['**/*.lock', 'objects/**/tmp_*'], { cwd: mirror.gitDir }))
      await rm(join(mirror.gitDir, left), { recursive: true, force: true });
  else await writeFile(mark, '');
  await fill(mirror, false);
  await rm(mark, { force: true });
}

/** Sizes by `du`, which walks a large mirror for seconds: asked in a process of its own, and again only after a use. */
function createSizes(): {
  of(folder: string, usedAt: number): Promise<number>;
  forget(folder: string): void;
} {
  const known = new Map<string, { readonly usedAt: number; readonly bytes: number }>();
  return {
    of: async (folder, usedAt) => {
      const before = known.get(folder);
      if (before?.usedAt === usedAt) return before.bytes;
      const { stdout } = await execute('du', ['-s', '--block-size=1', '--', folder], { timeout: 300_000 });
      const bytes = Number(stdout.split('\t')[0]);
      known.set(folder, { usedAt, bytes });
      return bytes;
    },
    forget: (folder) => void known.delete(folder),
  };
}
