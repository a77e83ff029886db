import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, chown, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Environments, EnvironmentTrees, SecretPlace } from '../../application/ports/environments.ts';
import type { SandboxDriver, SandboxProfile } from '../../application/ports/sandbox-driver.ts';
import type { Snapshots } from '../../application/ports/snapshots.ts';

export interface EnvironmentFolderOptions {
  readonly folder: string;
  readonly snapshots: Pick<Snapshots, 'download' | 'unpack'>;
  readonly driver: Pick<SandboxDriver, 'base' | 'runThrowaway'>;
  readonly profiles: readonly SandboxProfile[];
  /** Trees kept on disk. */
  readonly maxKept: number;
}

type HostUser = Parameters<Environments['drop']>[2];

/** A tree of some hundred thousand files; past it the archive is told to be unreadable. */
const scanDeadlineMs = 5 * 60_000;
const copyDeadlineMs = 5 * 60_000;
/** Written last: a tree without it was being made when its process ended. */
const wholeMark = 'whole';

/** The mark of a whole tree; null: there is none. Any other fault of the disk is not taken for that. */
function markOf(place: string): Promise<Stats | null> {
  return stat(join(place, wholeMark)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** Environments below one folder, a project's apart from every other's. */
export function createEnvironmentFolder(options: EnvironmentFolderOptions): Environments {
  const { folder, snapshots, driver } = options;
  const making = new Map<string, Promise<void>>();
  const held = new Map<string, number>();

  const placeOf = (projectId: string, sha256: string, { uid }: HostUser): string => {
    const project = createHash('sha256').update(projectId).digest('hex').slice(0, 32);
    return join(folder, project, `${sha256}-${uid}`);
  };

  const isWhole = (place: string): Promise<boolean> => markOf(place).then((mark) => mark !== null);

  const make = async (place: string, file: string, user: HostUser, signal: AbortSignal): Promise<void> => {
    const draft = `${place}.making`;
    await rm(draft, { recursive: true, force: true });
    const trees = { workspace: join(draft, 'workspace'), home: join(draft, 'home') };
    try {
      for (const tree of Object.values(trees)) {
        await mkdir(tree, { recursive: true });
        await chmod(tree, 0o755);
        if (process.getuid?.() === 0) await chown(tree, user.uid, user.gid);
      }
      await chmod(draft, 0o755);
      await snapshots.unpack(file, { ...trees, user }, signal);
      await writeFile(join(draft, wholeMark), '');
      await rename(draft, place);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  };

  /** One at a time for each tree; whoever comes meanwhile waits for it. */
  const ensure = async (place: string, work: () => Promise<void>): Promise<EnvironmentTrees> => {
    held.set(place, (held.get(place) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      held.set(place, (held.get(place) ?? 1) - 1);
    };
    try {
      if (!(await isWhole(place))) {
        const underWay = making.get(place) ?? work().finally(() => making.delete(place));
        making.set(place, underWay);
        await underWay;
      }
      const now = new Date();
      await utimes(join(place, wholeMark), now, now);
      return { workspace: join(place, 'workspace'), home: join(place, 'home'), release };
    } catch (error) {
      release();
      throw error;
    }
  };

  return {
    bring: (projectId, archive, user, signal) => {
      const place = placeOf(projectId, archive.sha256, user);
      return ensure(place, async () => {
        const file = await snapshots.download(archive, signal);
        try {
          await make(place, file.file, user, signal);
        } finally {
          await file.discard();
        }
      });
    },
    keep: (projectId, packed, user, signal) => {
      const place = placeOf(projectId, packed.sha256, user);
      return ensure(place, () => make(place, packed.file, user, signal));
    },
    drop: async (projectId, sha256, user) => {
      await rm(placeOf(projectId, sha256, user), { recursive: true, force: true });
    },
    scan: (trees, signal) => scanInWorker(trees, signal),
    baseOf: async (profileName) => {
      const profile = options.profiles.find(({ name }) => name === profileName);
      if (profile === undefined) throw new Error(`there is no profile ${profileName}`);
      return driver.base(profile);
    },
    copy: async (tree, target, owner, signal) => {
      const run = await driver.runThrowaway({
        argv: ['cp', '-a', '--no-clobber', '/environment/.', '/target'],
        mounts: [
          { source: tree, target: '/environment', readOnly: true },
          { source: target, target: '/target', readOnly: false },
        ],
        cwd: '/',
        user: owner,
        timeoutMs: copyDeadlineMs,
        maxOutputBytes: 64 * 1024,
      });
      signal.throwIfAborted();
      if (run.exitCode !== 0)
        throw new CodedError(
          'sandbox_start_failed',
          `The environment could not be copied: ${run.stderr.trim().slice(-500)}`,
        );
    },
    tidy: async () => {
      const kept = (await listKept(folder)).toSorted((one, other) => one.usedMs - other.usedMs);
      const unheld = kept.filter(({ place }) => (held.get(place) ?? 0) === 0 && !making.has(place));
      const doomed = unheld.slice(0, Math.max(0, kept.length - options.maxKept));
      for (const { place } of doomed) {
        // without its mark first: half-removed it must not be taken for whole
        await rm(join(place, wholeMark), { force: true });
        await rm(place, { recursive: true, force: true });
      }
      return doomed.map(({ place }) => place);
    },
    recover: async () => {
      for (const project of await readdir(folder).catch(() => []))
        for (const name of await readdir(join(folder, project)))
          if (!(await isWhole(join(folder, project, name))))
            await rm(join(folder, project, name), { recursive: true, force: true });
    },
  };
}

async function listKept(folder: string): Promise<{ place: string; usedMs: number }[]> {
  const kept: { place: string; usedMs: number }[] = [];
  for (const project of await readdir(folder).catch(() => []))
    for (const name of await readdir(join(folder, project))) {
      const place = join(folder, project, name);
      const mark = await markOf(place);
      if (mark !== null) kept.push({ place, usedMs: mark.mtimeMs });
    }
  return kept;
}

/** In a thread of its own: a tree of 50,000 files takes seconds, in which leases have to be renewed here. */
function scanInWorker(
  { workspace, home }: Pick<EnvironmentTrees, 'workspace' | 'home'>,
  signal: AbortSignal,
): Promise<SecretPlace[]> {
  const trees = [
    { name: 'workspace', root: workspace },
    { name: 'home', root: home },
  ];
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('secret-scan-worker.ts', import.meta.url), { workerData: { trees } });
    const late = AbortSignal.any([signal, AbortSignal.timeout(scanDeadlineMs)]);
    const end = (): void => {
      late.removeEventListener('abort', stop);
      void worker.terminate();
    };
    const stop = (): void => {
      end();
      reject(new CodedError('environment_failed', 'The scan for secrets did not end in time.'));
    };
    late.addEventListener('abort', stop, { once: true });
    worker.once('message', (found: SecretPlace[]) => {
      end();
      resolve(found);
    });
    worker.once('error', (error) => {
      end();
      reject(error);
    });
  });
}
