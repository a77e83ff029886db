import { randomBytes } from 'node:crypto';
import type {
  ThrowawayProfile,
  ThrowawayResult,
  ThrowawayRun,
} from '../../../application/ports/sandbox-driver.ts';
import { throwawayEnvironment } from '../command-environment.ts';
import { collectRun } from '../throwaway-run.ts';
import { startContainer } from './container.ts';
import type { DockerWorkplace } from './driver.ts';
import { removeContainer } from './engine.ts';

/** One program in a container of its own: one uid, no capability, gone when it ends. */
export async function runInThrowawayContainer(
  place: DockerWorkplace,
  run: ThrowawayRun,
  profile: ThrowawayProfile,
): Promise<ThrowawayResult> {
  const id = `throwaway-${randomBytes(8).toString('hex')}`;
  place.running.add(id);
  try {
    return await runNamed(place, run, profile, id);
  } finally {
    place.running.delete(id);
  }
}

async function runNamed(
  place: DockerWorkplace,
  run: ThrowawayRun,
  profile: ThrowawayProfile,
  id: string,
): Promise<ThrowawayResult> {
  const started = await startContainer(place.docker, {
    owner: place.owner,
    id,
    image: profile.image ?? place.image,
    profile,
    argv: run.argv,
    user: `${run.user.uid}:${run.user.gid}`,
    capabilities: [],
    workingFolder: run.cwd,
    environment: Object.entries({ ...throwawayEnvironment, ...run.env }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    mounts: run.mounts,
    tmpfs: {},
    processes: profile.processes,
    seccompProfile: place.seccompProfile,
  });
  const container = place.docker.getContainer(started.containerId);
  try {
    return await collectRun(started, run, () => {
      // the container may have ended by itself in the meantime
      container.kill({ signal: 'SIGKILL' }).catch(() => undefined);
    });
  } finally {
    await removeContainer(place.docker, started.containerId);
  }
}
