import { randomBytes } from 'node:crypto';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type {
  ThrowawayProfile,
  ThrowawayResult,
  ThrowawayRun,
} from '../../../application/ports/sandbox-driver.ts';
import { throwawayEnvironment } from '../command-environment.ts';
import { sandboxFolder } from '../folders.ts';
import { closedArgv } from '../supervisor/prepare.ts';
import { collectRun } from '../throwaway-run.ts';
import { launch } from './launch.ts';
import { killRemains, markProcess, removeRemains } from './leftover.ts';
import type { Remains } from './leftover.ts';
import { createUserNamespaces } from './user-namespaces.ts';
import type { UserNamespaces } from './user-namespaces.ts';
import { throwawayIdMaps } from './users.ts';
import { wallArguments } from './walls.ts';
import type { Workplace } from './workplace.ts';

type HostUser = ThrowawayRun['user'];

/** Capabilities that setpriv needs to become the user; none outlives its exec. */
const becomeWalls = ['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`]);

function become({ uid, gid }: HostUser): string[] {
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  const capabilities = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'];
  return ['/usr/bin/setpriv', ...ids, ...capabilities, '--'];
}

/** A server runs throwaways as two or three users; each pair of namespaces is made once. */
function namespacesOf(place: Workplace, { uid, gid }: HostUser): Promise<UserNamespaces> {
  const key = `${uid}:${gid}`;
  const known = place.throwawayNamespaces.get(key);
  if (known !== undefined) return known;
  const made = createUserNamespaces(throwawayIdMaps(uid), throwawayIdMaps(gid));
  place.throwawayNamespaces.set(key, made);
  made.catch(() => place.throwawayNamespaces.delete(key)); // the next run tries again
  return made;
}

/**
 * One program behind the same walls, without supervisor and wire: one uid, which is the given host user, and no
 * capability at all.
 */
export async function runInThrowaway(
  place: Workplace,
  run: ThrowawayRun,
  profile: ThrowawayProfile,
  clock: Clock,
): Promise<ThrowawayResult> {
  const id = `throwaway-${randomBytes(8).toString('hex')}`;
  place.running.add(id);
  const { memoryBytes, processes, cpus, tmpBytes, shmBytes } = profile;
  const cgroup = place.cgroups?.create(id, { memoryBytes, processes, cpus }) ?? null;
  let remains: Remains = { id, folder: sandboxFolder(place.sandboxes, id), cgroup, init: null };
  try {
    const started = await launch({
      name: `The throwaway sandbox for ${run.argv[0] ?? 'nothing'}`,
      bwrap: place.bwrap,
      walls: [
        ...wallArguments({ etcFolder: place.etcFolder, tmpBytes, shmBytes, mounts: run.mounts }),
        ...Object.entries({ ...throwawayEnvironment, ...run.env }).flatMap(([name, value]) => [
          '--setenv',
          name,
          value,
        ]),
        ...(place.root ? becomeWalls : ['--uid', String(run.user.uid), '--gid', String(run.user.gid)]),
      ],
      argv: [...(place.root ? become(run.user) : []), ...closedArgv(run.cwd, run.argv)],
      seccompFile: place.seccompFile,
      namespaces: place.root ? await namespacesOf(place, run.user) : null,
      cgroup,
    });
    remains = { ...remains, init: markProcess(started.initPid) };
    return await collectRun(started, run, () => killRemains(remains));
  } finally {
    await removeRemains(remains, false, place.disks, clock).finally(() => place.running.delete(id));
  }
}
