import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Sandbox, SandboxProfile } from '../../../application/ports/sandbox-driver.ts';
import { createSandboxFolder, sandboxFolder } from '../folders.ts';
import type { SandboxFolder } from '../folders.ts';
import type { Cgroup } from '../kernel/cgroup.ts';
import { firstAnswer } from '../first-answer.ts';
import { createLiveSandbox } from '../live-sandbox.ts';
import { checkProfile } from '../profile.ts';
import { insidePaths, mainArgv, supervisorTasks } from '../supervisor/prepare.ts';
import { toolchainMounts } from '../toolchains.ts';
import { openWire } from '../wire/wire.ts';
import type { Wire } from '../wire/wire.ts';
import { diskCounters, layers } from '../disk/sandbox-disk.ts';
import type { DiskBounds, SandboxDisks } from '../disk/sandbox-disk.ts';
import { launch } from './launch.ts';
import type { Launched } from './launch.ts';
import { killRemains, markProcess, removeRemains, saveMark } from './leftover.ts';
import type { Remains } from './leftover.ts';
import { commandUid, supervisorUid } from './users.ts';
import { wallArguments } from './walls.ts';
import type { Workplace } from './workplace.ts';

/** Who commands are on the host. */
function commandUserOf(place: Workplace): { uid: number; gid: number } {
  return place.root
    ? { uid: commandUid, gid: commandUid }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/**
 * How the main process becomes the supervisor. With root's rights: uid 0 of the inner namespace, with three
 * capabilities and no way to more. Without: one uid for all, so it relies on binaries that its user cannot read,
 * PID 1 among them.
 */
const supervisorArgv = {
  root: [
    '/usr/bin/setpriv',
    ...'--reuid 0 --regid 0 --clear-groups --inh-caps=-all --ambient-caps=-all'.split(' '),
    '--bounding-set=-all,+setuid,+setgid,+kill',
    '--',
    ...mainArgv('replaced'),
  ],
  other: mainArgv('reaper', insidePaths.bash),
} as const;

/** bwrap's own words for the same. SETPCAP is setpriv's, to close the bounding set, and gone with its exec. */
const supervisorWalls = {
  root: ['SETUID', 'SETGID', 'KILL', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`]),
  other: ['--uid', String(commandUid), '--gid', String(commandUid), '--as-pid-1'],
} as const;

/**
 * Boots one sandbox until its supervisor answers; takes back each step when a later one fails.
 * @throws CodedError `sandbox_start_failed`
 */
export async function bootSandbox(
  place: Workplace,
  id: string,
  profile: SandboxProfile,
  clock: Clock,
): Promise<Sandbox> {
  checkProfile(profile);
  const folder = sandboxFolder(place.sandboxes, id);
  const user = commandUserOf(place);
  let remains: Remains = { id, folder, cgroup: null, init: null };
  let wire: Wire | undefined;
  await createSandboxFolder(folder, place.root ? user : null, diskOf(place, profile));
  try {
    await createPrivateFolder(folder, place.root);
    const cgroup = createCgroup(place, id, profile);
    remains = { ...remains, cgroup };
    const started = await launchSupervisor(place, id, profile, cgroup);
    remains = { ...remains, init: markProcess(started.initPid) };
    saveMark(folder, remains.init);
    wire = openWire({
      sandboxId: id,
      input: started.stdout,
      output: started.stdin,
      user: { uid: commandUid, gid: commandUid, switchUser: place.root },
      clock,
    });
    await firstAnswer(wire, started);
    return liveSandbox({ place, id, profile, folder, user, wire, started, remains, clock });
  } catch (error) {
    wire?.close();
    await removeRemains(remains, false, place.disks, clock);
    throw error;
  }
}

/** The disk that a profile asks for, where this machine makes disks. */
function diskOf(
  { disks }: Workplace,
  { diskBytes, diskFiles }: SandboxProfile,
): { disks: SandboxDisks; bounds: DiskBounds } | null {
  return disks === null ? null : { disks, bounds: { bytes: diskBytes, files: diskFiles } };
}

const noCounters = { memoryKills: null, processRefusals: null, cpuMs: null };

/** The supervisor's own: pipes, and the standard input of running commands. */
async function createPrivateFolder(folder: SandboxFolder, root: boolean): Promise<void> {
  const path = join(folder.path, 'private');
  await mkdir(path, { mode: 0o700 });
  if (root) await chown(path, supervisorUid, supervisorUid);
}

function createCgroup(place: Workplace, id: string, profile: SandboxProfile): Cgroup | null {
  const { memoryBytes, cpus } = profile;
  return (
    place.cgroups?.create(id, { memoryBytes, cpus, processes: profile.processes + supervisorTasks }) ?? null
  );
}

function launchSupervisor(
  place: Workplace,
  id: string,
  profile: SandboxProfile,
  cgroup: Cgroup | null,
): Promise<Launched> {
  const folder = sandboxFolder(place.sandboxes, id);
  const { files, root } = place;
  const kind = root ? 'root' : 'other';
  const walls = wallArguments({
    etcFolder: place.etcFolder,
    tmpBytes: profile.tmpBytes,
    shmBytes: profile.shmBytes,
    mounts: [
      ...toolchainMounts(profile),
      { source: files.node, target: insidePaths.node, readOnly: true },
      { source: files.supervisor, target: insidePaths.supervisor, readOnly: true },
      ...(root ? [] : [{ source: files.bash, target: insidePaths.bash, readOnly: true }]),
      { source: join(folder.path, 'private'), target: insidePaths.privateFolder, readOnly: false },
      { source: folder.workspace, target: '/workspace', readOnly: false },
      { source: folder.home, target: '/home/agent', readOnly: false },
      ...place.cliMounts.folders,
      ...place.cliMounts.closedPrograms,
    ],
  });
  return launch({
    name: `Sandbox ${id}`,
    bwrap: place.bwrap,
    walls: [...walls, ...supervisorWalls[kind]],
    argv: supervisorArgv[kind],
    seccompFile: place.seccompFile,
    namespaces: place.namespaces,
    cgroup,
  });
}

/** bwrap's outer process follows its PID 1; if it does not, it is killed as well. */
async function outerExit(started: Launched): Promise<void> {
  const timer = setTimeout(() => started.child.kill('SIGKILL'), 1_000);
  await started.exited;
  clearTimeout(timer);
}

interface LiveParts {
  readonly place: Workplace;
  readonly id: string;
  readonly profile: SandboxProfile;
  readonly folder: { readonly path: string; readonly workspace: string; readonly home: string };
  readonly user: { readonly uid: number; readonly gid: number };
  readonly wire: Wire;
  readonly started: Launched;
  readonly remains: Remains;
  readonly clock: Clock;
}

function liveSandbox(parts: LiveParts): Sandbox {
  const { place, folder, started, remains, clock } = parts;
  const { disks } = place;
  return createLiveSandbox({
    id: parts.id,
    driver: 'bubblewrap',
    profile: parts.profile,
    workspaceFolder: folder.workspace,
    homeFolder: folder.home,
    commandUser: parts.user,
    wire: parts.wire,
    exited: started.exited,
    counters: async () => ({
      ...(remains.cgroup?.counters() ?? noCounters),
      ...(await diskCounters(disks === null ? null : folder.home)),
    }),
    ...(disks === null ? {} : layers(disks, folder.path)),
    terminate: () => killRemains(remains),
    async remove(keepWorkspace) {
      await removeRemains(remains, keepWorkspace, place.disks, clock);
      await outerExit(started);
    },
  });
}
