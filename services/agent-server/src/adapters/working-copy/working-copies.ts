import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mirrorKey } from '@lemniscate/shared/repository/mirror-key.ts';
import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { SandboxDriver } from '../../application/ports/sandbox-driver.ts';
import type {
  LayRequest,
  Revision,
  WorkingCopies,
  WorkingCopy,
} from '../../application/ports/working-copies.ts';
import { ensureCheckout } from './checkout.ts';
import type { Checkout } from './checkout.ts';
import { makeDiff } from './diff.ts';
import type { FetchHosts } from './fetch-host.ts';
import { checkAddress, fetchSource, readFetched } from './fetch-source.ts';
import { gitConfigText } from './git-environment.ts';
import { createHostGit } from './host-git.ts';
import { fetchObjects } from './lfs/fetch-objects.ts';
import { takeBundled } from './lfs/take-bundled.ts';
import { importBundle } from './import-bundle.ts';
import { createMirrorCache } from './mirror-cache.ts';
import type { Mirror } from './mirror-cache.ts';
import { endOrphanedGit } from './orphaned-git.ts';
import { partName, withoutPart } from './part-of-repository.ts';
import { createSpareCopies, removeSpareDrafts } from './spare-copies.ts';
import { createThrowawayGit } from './throwaway-git.ts';

export interface WorkingCopyOptions {
  /** Holds `mirrors/` (kept over restarts) and `sessions/` (not). */
  readonly stateFolder: string;
  readonly driver: SandboxDriver;
  readonly allowLocalPaths: boolean;
  readonly hosts: FetchHosts;
  readonly maxRepositoryBytes: number;
  /** Of one commit. */
  readonly maxRepositoryFiles: number;
  readonly maxMirrors: number;
  readonly maxMirrorBytes: number;
  readonly maxMirrorAgeMs: number;
  /** Told when a copy could not be put aside; the next session then copies for itself. */
  readonly onSpareFailure: (error: unknown) => void;
}

/** A mirror of a whole repository and one of a part of it are two. */
function cacheName({ projectId, repository }: LayRequest): string {
  const part = repository.kind === 'bundle' ? '' : partName(repository.fetch);
  return `${mirrorKey(projectId, repository)}${part}`;
}

/** Those of the paths at which a checkout has nothing. */
async function notIn(tree: string, paths: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const path of paths) if ((await factsOf(join(tree, path))) === null) missing.push(path);
  return missing;
}

/** The same paths, but for a folder that both trees have those within it: another commit may have more folders. */
async function spreadOver(under: string, tree: string, paths: readonly string[]): Promise<string[]> {
  const spread: string[] = [];
  for (const path of paths) {
    const [below, own] = await Promise.all([factsOf(join(under, path)), factsOf(join(tree, path))]);
    if (below?.isDirectory() !== true || own?.isDirectory() !== true) spread.push(path);
    else {
      const names = (await readdir(join(under, path))).map((name) => join(path, name));
      spread.push(...(await spreadOver(under, tree, names)));
    }
  }
  return spread;
}

/** Null where there is nothing. */
function factsOf(path: string): Promise<Stats | null> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
}

/** Working copies from a mirror cache: one checkout a commit, one copy of it a session. */
export function createWorkingCopies(options: WorkingCopyOptions): WorkingCopies {
  const mirrors = createMirrorCache(join(options.stateFolder, 'mirrors'), {
    maxMirrors: options.maxMirrors,
    maxBytes: options.maxMirrorBytes,
    maxAgeMs: options.maxMirrorAgeMs,
  });
  const sessions = join(options.stateFolder, 'sessions');
  const configFile = join(options.stateFolder, 'git.config');
  const hostGit = createHostGit(configFile);
  const spares = createSpareCopies(options.onSpareFailure);
  const throwawayGit = createThrowawayGit(options.driver, configFile);
  let prepared: Promise<void> | undefined;

  const prepare = async (): Promise<void> => {
    await mkdir(options.stateFolder, { recursive: true });
    await writeFile(configFile, gitConfigText());
    await chmod(configFile, 0o644);
  };

  const bring = async (request: LayRequest): Promise<{ mirror: Mirror; checkout: Checkout }> => {
    const { repository, user, signal, deadlineMs: timeoutMs } = request;
    const from = repository.kind === 'bundle' ? null : await checkAddress(repository, options);
    let commit = repository.kind === 'bundle' ? repository.commit : '';
    const name = repository.kind === 'bundle' ? repository.name : (from?.address ?? '');
    const mode = repository.kind === 'bundle' ? repository.lfs : repository.fetch?.lfs;
    const onlyThisCommit = repository.kind !== 'bundle' && repository.fetch?.partial === true;
    return mirrors.use(
      cacheName(request),
      async (mirror, fresh) => {
        if (repository.kind === 'bundle') {
          if (!fresh) return;
          await importBundle(throwawayGit, repository, mirror, {
            user,
            maxBytes: options.maxRepositoryBytes,
            timeoutMs,
            signal,
          });
        } else if (from !== null) {
          const pinned = request.restoredFrom === undefined ? {} : { commit: request.restoredFrom };
          commit = await fetchSource(hostGit, repository, from, mirror, {
            timeoutMs,
            signal,
            maxBytes: options.maxRepositoryBytes,
            ...pinned,
          });
        }
      },
      async (mirror) => {
        const folder = join(mirror.folder, 'lfs');
        const { hosts } = options;
        const largeFiles = mode && {
          mode,
          folder,
          remedy:
            from === null
              ? 'Fetch them before you send the repository (`git lfs pull`), or name its address instead'
              : 'Push them (`git lfs push --all`)',
          bring: (objects: readonly LfsObject[]) =>
            from === null
              ? takeBundled(throwawayGit, mirror, objects, folder, { user, timeoutMs })
              : fetchObjects(from, objects, folder, { hosts, signal, timeoutMs }),
        };
        const checkout = await ensureCheckout(throwawayGit, mirror, commit, {
          user,
          timeoutMs,
          name,
          maxBytes: options.maxRepositoryBytes,
          maxFiles: options.maxRepositoryFiles,
          onlyThisCommit,
          ...(largeFiles === undefined ? {} : { largeFiles }),
        });
        return { mirror, checkout };
      },
    );
  };

  const workingCopy = (
    request: LayRequest,
    mirror: Mirror,
    checkout: Checkout,
    installed: readonly string[],
    release: () => void,
  ): WorkingCopy => {
    const spool = join(sessions, randomUUID());
    let discarded = false;
    const submodules = checkout.submodules.slice(0, 20).join(', ');
    const pointers = checkout.pointers?.join(', ') ?? '';
    return {
      baseCommit: checkout.baseCommit,
      baseTree: checkout.baseTree,
      notices: [
        ...(submodules === '' ? [] : [`Submodules are left out: ${submodules}`]),
        ...(pointers === '' ? [] : [`Large files are pointers: ${pointers}`]),
      ],
      beganWith: (name) =>
        lstat(join(checkout.tree, name)).then(
          (found) => found.isFile(),
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'ENOENT') return false;
            throw error;
          },
        ),
      diff: async () =>
        makeDiff(throwawayGit, {
          excluded: await notIn(checkout.tree, installed),
          mirror,
          checkout,
          workspace: request.folder,
          spool,
          user: request.user,
          timeoutMs: request.deadlineMs,
        }),
      async discard() {
        if (!discarded && request.layTree !== undefined) release();
        else if (!discarded) void spares.prepare(checkout.tree).finally(release);
        discarded = true;
        await rm(spool, { recursive: true, force: true });
      },
    };
  };

  /** Where trees cannot be laid, only the revision's own files are copied; what lies under them is the caller's. */
  const layFiles = async (request: LayRequest, { tree }: Checkout, under?: string): Promise<void> => {
    const { folder, layTree, signal, deadlineMs: timeoutMs } = request;
    if (layTree === undefined) await spares.lay(tree, folder, { signal, timeoutMs });
    else await layTree(tree, under);
  };

  const revisionOf = (
    { repository, signal, deadlineMs: timeoutMs }: LayRequest,
    mirror: Mirror,
    { tree, baseCommit }: Checkout,
    lay: Revision['lay'],
  ): Revision => ({
    commit: baseCommit,
    tree,
    lay,
    readAt: async (commit, path) => {
      const args = [`--git-dir=${mirror.gitDir}`, 'cat-file', 'blob', `${commit}:${path}`];
      const found = await hostGit(args, { signal, timeoutMs });
      if (found.exitCode === 0) return found.stdout;
      if (repository.kind === 'bundle' || repository.fetch === undefined) return null;
      const from = await checkAddress(repository, options);
      return readFetched(hostGit, repository, from, mirror, { commit, path }, { signal, timeoutMs });
    },
  });

  return {
    async lay(request) {
      await (prepared ??= prepare());
      const release = mirrors.hold(cacheName(request));
      try {
        const { mirror, checkout } = await bring(request);
        request.signal.throwIfAborted();
        let { installed = [] } = request;
        const lay: Revision['lay'] = async (under) => {
          if (under !== undefined) installed = await spreadOver(under.tree, checkout.tree, under.installed);
          await layFiles(request, checkout, under?.tree);
        };
        if (request.restoredFrom === undefined)
          await (request.fill?.(revisionOf(request, mirror, checkout, lay)) ?? lay());
        return workingCopy(request, mirror, checkout, installed, release);
      } catch (error) {
        release();
        throw error;
      }
    },
    tidy: () => mirrors.tidy(),
    close: () => spares.close(),
    mirrors: () => [...new Set(mirrors.keys().map(withoutPart))],
    async recover() {
      // before anything below is removed, or they would write into it
      endOrphanedGit(configFile);
      await rm(sessions, { recursive: true, force: true });
      await mkdir(sessions, { recursive: true });
      await mirrors.recover();
      await removeSpareDrafts(join(options.stateFolder, 'mirrors'));
    },
  };
}
