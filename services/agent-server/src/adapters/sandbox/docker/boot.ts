import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Sandbox, SandboxCounters, SandboxProfile } from '../../../application/ports/sandbox-driver.ts';
import { firstAnswer } from '../first-answer.ts';
import { cliSettingsMounts } from '../cli-bundle.ts';
import { diskCounters, layers } from '../disk/sandbox-disk.ts';
import { createSandboxFolder, removeSandboxFolder, sandboxFolder } from '../folders.ts';
import type { SandboxFolder } from '../folders.ts';
import { countersOfProcess } from '../kernel/process-cgroup.ts';
import { createLiveSandbox } from '../live-sandbox.ts';
import { checkProfile, supervisorFolderBytes } from '../profile.ts';
import { shellStartupMounts } from '../shell-startup.ts';
import { insidePaths, mainArgv, supervisorTasks } from '../supervisor/prepare.ts';
import { toolchainMounts } from '../toolchains.ts';
import { openWire } from '../wire/wire.ts';
import type { Wire } from '../wire/wire.ts';
import { startContainer } from './container.ts';
import type { StartedContainer } from './container.ts';
import type { DockerWorkplace } from './driver.ts';
import { engineStatus, removeContainer } from './engine.ts';

/** Commands run as this uid inside; without remapping it is the host's as well. */
const commandId = 10_001;

/**
 * Boots one container until its supervisor answers; takes back each step when a later one fails.
 * @throws CodedError `sandbox_start_failed`
 */
export async function bootContainer(
  place: DockerWorkplace,
  id: string,
  profile: SandboxProfile,
  clock: Clock,
): Promise<Sandbox> {
  checkProfile(profile);
  const folder = sandboxFolder(place.sandboxes, id);
  // a server without root's rights cannot give the workspace away, so commands run as its own uid
  const root = process.getuid?.() === 0;
  const user = root
    ? { uid: commandId, gid: commandId }
    : { uid: process.getuid?.() ?? commandId, gid: process.getgid?.() ?? commandId };
  const { disks } = place;
  let started: StartedContainer | undefined;
  let wire: Wire | undefined;
  await createSandboxFolder(
    folder,
    root ? user : null,
    disks === null ? null : { disks, bounds: { bytes: profile.diskBytes, files: profile.diskFiles } },
  );
  try {
    started = await startSupervisor(place, id, profile, folder);
    wire = openWire({
      sandboxId: id,
      input: started.stdout,
      output: started.stdin,
      user: { ...user, switchUser: true },
      clock,
    });
    await firstAnswer(wire, started);
    return liveContainer({ place, id, profile, folder, user, wire, started });
  } catch (error) {
    wire?.close();
    if (started !== undefined) await removeContainer(place.docker, started.containerId);
    await removeSandboxFolder(folder, false, disks);
    throw error;
  }
}

function startSupervisor(
  place: DockerWorkplace,
  id: string,
  profile: SandboxProfile,
  folder: SandboxFolder,
): Promise<StartedContainer> {
  return startContainer(place.docker, {
    owner: place.owner,
    id,
    image: profile.image ?? place.image,
    profile,
    argv: mainArgv('reaper'),
    user: '0:0',
    capabilities: ['SETUID', 'SETGID', 'KILL'],
    workingFolder: '/',
    environment: [],
    mounts: [
      ...toolchainMounts(profile),
      { source: place.files.node, target: insidePaths.node, readOnly: true },
      { source: place.files.supervisor, target: insidePaths.supervisor, readOnly: true },
      { source: folder.workspace, target: '/workspace', readOnly: false, follows: place.disks !== null },
      { source: folder.home, target: '/home/agent', readOnly: false, follows: place.disks !== null },
      ...place.cliMounts.folders,
      // gVisor runs no program that its user cannot read
      ...(profile.ociRuntime === 'runsc' ? [] : place.cliMounts.closedPrograms),
      ...cliSettingsMounts(place.cliSettings),
      ...shellStartupMounts(place.shellStartup),
    ],
    tmpfs: {
      '/run/lemniscate': 'rw,exec,nosuid,nodev,mode=0700,size=64k',
      [insidePaths.privateFolder]: `rw,noexec,nosuid,nodev,mode=0700,size=${supervisorFolderBytes}`,
    },
    processes: profile.processes + supervisorTasks,
    seccompProfile: place.seccompProfile,
  });
}

interface LiveParts {
  readonly place: DockerWorkplace;
  readonly id: string;
  readonly profile: SandboxProfile;
  readonly folder: SandboxFolder;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly wire: Wire;
  readonly started: StartedContainer;
}

function liveContainer(parts: LiveParts): Sandbox {
  const { place, folder, started } = parts;
  const container = place.docker.getContainer(started.containerId);
  const kernel = countersOfProcess(started.pid, started.containerId, parts.profile.ociRuntime === 'runsc');

  const { disks } = place;
  const counters = async (): Promise<SandboxCounters | null> => {
    const counted = kernel.counters(); // first, for it may be gone while the disk is asked
    const disk = await diskCounters(disks === null ? null : folder.home);
    if (counted !== null) return { ...counted, ...disk };
    // the engine knows it only once the container has stopped; its control group is gone by then
    const found = await container.inspect().catch((error: unknown) => {
      if (engineStatus(error) === 404) return null;
      throw error;
    });
    if (found === null) return null;
    const { State } = found;
    return { memoryKills: State.OOMKilled ? 1 : null, processRefusals: null, cpuMs: null, ...disk };
  };

  return createLiveSandbox({
    id: parts.id,
    driver: 'docker',
    profile: parts.profile,
    workspaceFolder: folder.workspace,
    homeFolder: folder.home,
    commandUser: parts.user,
    wire: parts.wire,
    exited: started.exited,
    counters,
    onRefusedFork: kernel.onRefusedFork,
    ...(disks === null || parts.profile.ociRuntime === 'runsc' || parts.profile.ociRuntime === 'kata'
      ? {} // another kernel opened the folder before anything was mounted on it
      : layers(disks, folder.path)),
    terminate() {
      // gone already, or remove() will say so
      container.kill({ signal: 'SIGKILL' }).catch(() => undefined);
    },
    async remove(keepWorkspace) {
      await removeContainer(place.docker, started.containerId);
      await removeSandboxFolder(folder, keepWorkspace, place.disks);
    },
  });
}
