import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SandboxDriver } from '../../application/ports/sandbox-driver.ts';
import type { LayRequest, WorkingCopies, WorkingCopy } from '../../application/ports/working-copies.ts';
import { ensureCheckout } from './checkout.ts';
import type { Checkout } from './checkout.ts';
import { makeDiff } from './diff.ts';
import { checkAddress, fetchSource } from './fetch-source.ts';
import { runHostGit } from './host-git.ts';
import { importBundle } from './import-bundle.ts';
import { createMirrorCache, mirrorKey } from './mirror-cache.ts';
import type { Mirror } from './mirror-cache.ts';

const execute = promisify(execFile);

export interface WorkingCopyOptions {
  /** Holds `mirrors/` (kept over restarts) and `sessions/` (not). */
  readonly stateFolder: string;
  readonly driver: SandboxDriver;
  readonly allowLocalPaths: boolean;
  readonly maxRepositoryBytes: number;
  readonly maxMirrors: number;
}

/** Working copies from a mirror cache: one checkout a commit, one copy of it a session. */
export function createWorkingCopies(options: WorkingCopyOptions): WorkingCopies {
  const mirrors = createMirrorCache(join(options.stateFolder, 'mirrors'), options.maxMirrors);
  const sessions = join(options.stateFolder, 'sessions');

  const bring = async (request: LayRequest): Promise<{ mirror: Mirror; checkout: Checkout }> => {
    const { repository, user, signal, deadlineMs: timeoutMs } = request;
    const from =
      repository.kind === 'bundle' ? null : await checkAddress(repository, options.allowLocalPaths);
    let commit = repository.kind === 'bundle' ? repository.commit : '';
    const name = repository.kind === 'bundle' ? repository.name : (from?.address ?? '');
    return mirrors.use(
      mirrorKey(request.projectId, repository),
      async (mirror, fresh) => {
        if (repository.kind === 'bundle') {
          if (!fresh) return;
          await importBundle(options.driver, repository, mirror, {
            user,
            maxBytes: options.maxRepositoryBytes,
            timeoutMs,
            signal,
          });
        } else if (from !== null) {
          commit = await fetchSource(runHostGit, repository, from, mirror, { timeoutMs, signal });
        }
      },
      async (mirror) => ({
        mirror,
        checkout: await ensureCheckout(options.driver, mirror, commit, { user, timeoutMs, name }),
      }),
    );
  };

  return {
    async lay(request) {
      const { mirror, checkout } = await bring(request);
      request.signal.throwIfAborted();
      // No process of the sandbox has run, so nothing can swap a path under this copy; cp -a follows no link.
      await execute('cp', ['-a', '--reflink=auto', '--', `${checkout.tree}/.`, request.folder], {
        signal: request.signal,
        timeout: request.deadlineMs,
      });
      const spool = join(sessions, randomUUID());
      const copy: WorkingCopy = {
        baseCommit: checkout.baseCommit,
        baseTree: checkout.baseTree,
        notices:
          checkout.submodules.length === 0
            ? []
            : [`Submodules are left out: ${checkout.submodules.slice(0, 20).join(', ')}`],
        diff: () =>
          makeDiff(options.driver, {
            mirror,
            checkout,
            workspace: request.folder,
            spool,
            user: request.user,
            timeoutMs: request.deadlineMs,
          }),
        discard: () => rm(spool, { recursive: true, force: true }),
      };
      return copy;
    },
    async recover() {
      await rm(sessions, { recursive: true, force: true });
      await mkdir(sessions, { recursive: true });
      await mirrors.recover();
    },
  };
}
