import type { Clock } from '@lemniscate/shared/clock.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import type {
  SandboxDriver,
  ThrowawayProfile,
  ThrowawayRun,
} from '../../../application/ports/sandbox-driver.ts';
import { listSandboxFolders, sandboxFolder } from '../folders.ts';
import { fingerprintOf, throwawayBounds, unsuited } from '../profile.ts';
import { requireToolchains } from '../toolchains.ts';
import { checkName } from '../sandbox-id.ts';
import { digestOfHost } from './host-digest.ts';
import { bootSandbox } from './boot.ts';
import { loadMark, removeRemains } from './leftover.ts';
import { killOrphanedLaunches } from './orphans.ts';
import { runInThrowaway } from './throwaway.ts';
import { prepareWorkplace } from './workplace.ts';
import type { Workplace } from './workplace.ts';

export interface BubblewrapOptions {
  /** Holds everything of this driver. It may lie in a folder that only its owner can pass through. */
  readonly stateFolder: string;
  /** Tells this server's sandboxes from those of another on the same machine. */
  readonly serverId: string;
  readonly clock?: Clock;
  /** Bounds of throwaway runs. */
  readonly throwawayProfile?: ThrowawayProfile;
}

/**
 * Sandboxes made by bubblewrap: namespaces over the host's own /usr. The embedded default where no container
 * engine answers, and the workstation's variant with the workstation's own toolchains.
 */
export function createBubblewrapDriver(options: BubblewrapOptions): SandboxDriver {
  const { stateFolder, clock = systemClock, throwawayProfile = throwawayBounds } = options;
  const serverId = checkName('server', options.serverId);
  /** Everything that this process made and has not seen gone. */
  const held = new Set<string>();
  let prepared: Promise<Workplace> | undefined;

  const workplace = (): Promise<Workplace> => {
    prepared ??= prepareWorkplace(stateFolder, serverId).catch((error: unknown) => {
      prepared = undefined; // what was missing may be there the next time
      throw error;
    });
    return prepared;
  };

  /** Every id that has a folder or a control group. */
  const existing = async (place: Workplace): Promise<string[]> => [
    ...new Set([...(await listSandboxFolders(place.sandboxes)).sandboxes, ...(place.cgroups?.list() ?? [])]),
  ];

  return {
    name: 'bubblewrap',
    async probe() {
      const place = await workplace();
      return {
        memoryLimit: place.cgroups?.memory ?? false,
        processLimit: place.cgroups?.processes ?? false,
        cpuLimit: place.cgroups?.cpu ?? false,
        diskLimit: place.disks !== null,
        seccomp: true,
        separateCommandUser: place.root,
      };
    },
    async fingerprint(profile) {
      for (const [what, value] of [
        ['image', profile.image],
        ['runtime', profile.ociRuntime],
      ] as const)
        if (value !== undefined) throw unsuited(profile, what, value);
      requireToolchains(profile);
      const { files } = await workplace();
      return fingerprintOf(profile, files, 'bubblewrap');
    },
    base: () => digestOfHost(),
    async boot(id, profile) {
      const place = await workplace();
      held.add(checkName('sandbox', id));
      const sandbox = await bootSandbox(place, id, profile, clock).catch((error: unknown) => {
        held.delete(id);
        throw error;
      });
      const { destroy } = sandbox;
      return {
        ...sandbox,
        async destroy(how) {
          await destroy(how);
          if (how?.keepWorkspace !== true) held.delete(id);
        },
      };
    },
    async runThrowaway(run: ThrowawayRun) {
      return runInThrowaway(await workplace(), run, throwawayProfile, clock);
    },
    async recover() {
      const place = await workplace();
      killOrphanedLaunches(place.seccompFile);
      const { kept } = await listSandboxFolders(place.sandboxes);
      const ids = [...kept, ...(await existing(place))].filter(
        (id) => !held.has(id) && !place.running.has(id),
      );
      for (const id of ids) {
        const folder = sandboxFolder(place.sandboxes, id);
        const cgroup = place.cgroups?.exists(id) === true ? place.cgroups.open(id) : null;
        await removeRemains({ id, folder, cgroup, init: loadMark(folder) }, false, place.disks, clock);
      }
      return ids;
    },
    async list() {
      return existing(await workplace());
    },
  };
}
