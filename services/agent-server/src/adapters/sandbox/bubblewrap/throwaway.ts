import { randomBytes } from 'node:crypto';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type {
  SandboxProfile,
  ThrowawayResult,
  ThrowawayRun,
} from '../../../application/ports/sandbox-driver.ts';
import { throwawayEnvironment } from '../command-environment.ts';
import { sandboxFolder } from '../folders.ts';
import { collectRun } from '../throwaway-run.ts';
import { launch } from './launch.ts';
import { killRemains, markProcess, removeRemains } from './leftover.ts';
import type { Remains } from './leftover.ts';
import { singleIdMap, supervisorUid } from './users.ts';
import { wallArguments } from './walls.ts';
import type { Workplace } from './workplace.ts';

/**
 * One program behind the same walls, without supervisor and wire: one uid, which is the given host user, and no
 * capability at all.
 */
export async function runInThrowaway(
  place: Workplace,
  run: ThrowawayRun,
  profile: SandboxProfile,
  clock: Clock,
): Promise<ThrowawayResult> {
  const id = `throwaway-${randomBytes(8).toString('hex')}`;
  const { memoryBytes, processes, cpus, tmpBytes } = profile;
  const cgroup = place.cgroups?.create(id, { memoryBytes, processes, cpus }) ?? null;
  let remains: Remains = { id, folder: sandboxFolder(place.sandboxes, id), cgroup, init: null };
  try {
    const started = await launch({
      name: `The throwaway sandbox for ${run.argv[0] ?? 'nothing'}`,
      bwrap: place.bwrap,
      walls: [
        ...wallArguments({ etcFolder: place.etcFolder, tmpBytes, mounts: run.mounts }),
        ...Object.entries({ ...throwawayEnvironment, ...run.env }).flatMap(([name, value]) => [
          '--setenv',
          name,
          value,
        ]),
        '--uid',
        String(run.user.uid),
        '--gid',
        String(run.user.gid),
        '--chdir',
        run.cwd,
      ],
      argv: run.argv,
      seccompFile: place.seccompFile,
      identity: place.root
        ? {
            uid: run.user.uid,
            gid: run.user.gid,
            groups: [supervisorUid],
            uidMap: singleIdMap(run.user.uid),
            gidMap: singleIdMap(run.user.gid),
          }
        : null,
      cgroup,
    });
    remains = { ...remains, init: markProcess(started.initPid) };
    return await collectRun(started, run, () => killRemains(remains));
  } finally {
    await removeRemains(remains, false, clock);
  }
}
