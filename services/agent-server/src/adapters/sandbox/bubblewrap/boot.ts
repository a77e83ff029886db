import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Sandbox, SandboxProfile } from '../../../application/ports/sandbox-driver.ts';
import { createSandboxFolder, sandboxFolder } from '../folders.ts';
import type { Cgroup } from '../kernel/cgroup.ts';
import { firstAnswer } from '../first-answer.ts';
import { createLiveSandbox } from '../live-sandbox.ts';
import { checkProfile } from '../profile.ts';
import { insidePaths, mainArgv, supervisorTasks } from '../supervisor/prepare.ts';
import { openWire } from '../wire/wire.ts';
import type { Wire } from '../wire/wire.ts';
import { launch } from './launch.ts';
import type { Launched } from './launch.ts';
import { killRemains, markProcess, removeRemains, saveMark } from './leftover.ts';
import type { Remains } from './leftover.ts';
import { commandUid, sandboxIdMap, supervisorUid } from './users.ts';
import { wallArguments } from './walls.ts';
import type { Workplace } from './workplace.ts';

/** Who commands are on the host. */
function commandUserOf(place: Workplace): { uid: number; gid: number } {
  return place.root
    ? { uid: commandUid, gid: commandUid }
    : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/**
 * The supervisor's user and what it may do. With root's rights: uid 0 of its namespace with three capabilities.
 * Without: one uid for all, so the supervisor relies on a binary that its user cannot read, and on being
 * PID 1's child with PID 1 itself a binary of that kind.
 */
function identityArguments(root: boolean): string[] {
  return root
    ? [
        '--uid',
        '0',
        '--gid',
        '0',
        ...['SETUID', 'SETGID', 'KILL'].flatMap((name) => ['--cap-add', `CAP_${name}`]),
      ]
    : ['--uid', String(commandUid), '--gid', String(commandUid), '--as-pid-1'];
}

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
  await createSandboxFolder(folder, place.root ? { group: supervisorUid, commands: user } : null);
  try {
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
    return liveSandbox({ id, profile, folder, user, wire, started, remains, clock });
  } catch (error) {
    wire?.close();
    await removeRemains(remains, false, clock);
    throw error;
  }
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
  const walls = wallArguments({
    etcFolder: place.etcFolder,
    tmpBytes: profile.tmpBytes,
    supervisorFolder: insidePaths.privateFolder,
    mounts: [
      { source: files.node, target: insidePaths.node, readOnly: true },
      { source: files.supervisor, target: insidePaths.supervisor, readOnly: true },
      ...(root ? [] : [{ source: files.bash, target: insidePaths.bash, readOnly: true }]),
      { source: folder.workspace, target: '/workspace', readOnly: false },
      { source: folder.home, target: '/home/agent', readOnly: false },
    ],
  });
  return launch({
    name: `Sandbox ${id}`,
    bwrap: place.bwrap,
    walls: [...walls, ...identityArguments(root)],
    argv: root ? mainArgv('replaced') : mainArgv('reaper', insidePaths.bash),
    seccompFile: place.seccompFile,
    identity: root
      ? { uid: supervisorUid, gid: supervisorUid, uidMap: sandboxIdMap, gidMap: sandboxIdMap }
      : null,
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
  const { started, remains, clock } = parts;
  return createLiveSandbox({
    id: parts.id,
    driver: 'bubblewrap',
    profile: parts.profile,
    workspaceFolder: parts.folder.workspace,
    commandUser: parts.user,
    wire: parts.wire,
    // bwrap passes a SIGKILL of its child on as exit code 137
    exited: started.exited.then(({ code, signal }) => ({ killed: signal === 'SIGKILL' || code === 137 })),
    counters: () =>
      Promise.resolve(
        remains.cgroup?.counters() ?? { memoryKills: null, processRefusals: null, cpuMs: null },
      ),
    terminate: () => killRemains(remains),
    async remove(keepWorkspace) {
      await removeRemains(remains, keepWorkspace, clock);
      await outerExit(started);
    },
  });
}
