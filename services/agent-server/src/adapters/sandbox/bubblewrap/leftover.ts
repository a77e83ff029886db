import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Cgroup } from '../kernel/cgroup.ts';
import { removeSandboxFolder } from '../folders.ts';
import type { SandboxDisks } from '../disk/sandbox-disk.ts';
import type { SandboxFolder } from '../folders.ts';

/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessMark {
  readonly pid: number;
  /** Clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTime: string;
}

export function markProcess(pid: number): ProcessMark | null {
  const stat = readStat(pid);
  return stat === null ? null : { pid, startTime: stat.startTime };
}

function readStat(pid: number): { state: string; startTime: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTime: fields[19] ?? '' };
  } catch {
    return null; // gone
  }
}

/** A zombie is dead: who reaps it is somebody else's business and may take seconds (1.8 s seen). */
export function isAlive(mark: ProcessMark): boolean {
  const stat = readStat(mark.pid);
  return stat !== null && stat.startTime === mark.startTime && stat.state !== 'Z';
}

const markFile = 'process';

/** Remembered on disk, so that the next process of this server can end what this one left. */
export function saveMark(folder: SandboxFolder, mark: ProcessMark | null): void {
  if (mark !== null) writeFileSync(join(folder.path, markFile), `${mark.pid} ${mark.startTime}`);
}

export function loadMark(folder: SandboxFolder): ProcessMark | null {
  try {
    const [pid, startTime = ''] = readFileSync(join(folder.path, markFile), 'utf8').split(' ');
    return { pid: Number(pid), startTime };
  } catch {
    return null; // it never got as far as a process
  }
}

/** What one bubblewrap sandbox consists of on the host. */
export interface Remains {
  readonly id: string;
  readonly folder: SandboxFolder;
  readonly cgroup: Cgroup | null;
  /**
   * PID 1 of the sandbox: when it is dead, the kernel has ended its namespace. It is killed before bwrap's outer
   * process, which then reaps it; an orphan would go to the host's init, and a server that is PID 1 of a
   * container reaps nobody.
   */
  readonly init: ProcessMark | null;
}

/** Kills now; may be called at any time and again. */
export function killRemains({ init, cgroup }: Remains): void {
  if (init !== null && isAlive(init)) {
    try {
      process.kill(init.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  cgroup?.kill();
}

const removalDeadlineMs = 10_000;

/**
 * Kills until nothing lives, then removes control group, mounts and folder, and verifies each.
 * @throws CodedError `sandbox_leaked`
 */
export async function removeRemains(
  remains: Remains,
  keepWorkspace: boolean,
  disks: SandboxDisks | null,
  clock: Clock,
): Promise<void> {
  const { id, init, cgroup, folder } = remains;
  const deadline = clock.monotonicMs() + removalDeadlineMs;
  for (;;) {
    killRemains(remains);
    const alive = [...(init !== null && isAlive(init) ? [init.pid] : []), ...(cgroup?.members() ?? [])];
    if (alive.length === 0 && (cgroup?.remove() ?? true)) break;
    if (clock.monotonicMs() > deadline)
      throw new CodedError(
        'sandbox_leaked',
        `Processes of sandbox ${id} outlive SIGKILL: ${alive.join(', ')}.`,
        {
          sandbox: id,
          processes: alive.map(String),
        },
      );
    await delay(2);
  }
  await removeSandboxFolder(folder, keepWorkspace, disks);
}
