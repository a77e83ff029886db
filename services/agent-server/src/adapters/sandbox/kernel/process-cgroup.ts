import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { parseCounter } from './cgroup-files.ts';
import { readCgroupMounts } from './cgroup.ts';
import type { CgroupCounters } from './cgroup.ts';
import { forkWasRefused } from './kernel-log.ts';

function read(path: string | undefined): string | null {
  if (path === undefined) return null;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // gone with its container, or not ours to see
  }
}

/** Of the bound of tasks; a fork bomb passes from here to the bound in less than two looks. */
const crowdedShare = 0.5;

/** The counters of one process' control group. */
export interface ProcessCounters {
  /** Null once the group is gone. */
  counters(): CgroupCounters | null;
  /**
   * Calls as soon as the kernel has counted a refused fork (it announces changes of `pids.events` to inotify, in version 2 only);
   * never where the group or the file is not there. The returned function ends it.
   */
  onRefusedFork(listener: () => void): () => void;
}

/**
 * Finds the counters of the control group that somebody else (a container engine) made for a process. A group that is not the container's own (gVisor may be told
 * to make none) says nothing of it.
 * @param diesOfRefusal a kernel of its own that is refused a thread ends as a whole, and its group with it a fifth of a
 * second later: one that was full when it was last seen has been refused, also where nobody saw the counter. What is not
 * seen even so (a bomb took 0.6 s on a busy machine) stands in the kernel's log
 */
export function countersOfProcess(pid: number, containerId: string, diesOfRefusal: boolean): ProcessCounters {
  const mounts = readCgroupMounts(
    read('/proc/self/mountinfo') ?? '',
    (path) => read(join(path, 'cgroup.controllers')) ?? '',
  );
  const folders = new Map<string, string>();
  for (const line of (read(`/proc/${pid}/cgroup`) ?? '').split('\n')) {
    const [, controllers = '', ...path] = line.split(':');
    if (!path.join(':').includes(containerId)) continue;
    for (const controller of controllers.split(',')) {
      const mount = controller === '' ? mounts.version2 : mounts.version1.get(controller);
      if (mount !== null && mount !== undefined) folders.set(controller, join(mount, path.join(':')));
    }
  }
  const pathOf = (controller: string, name: string): string | undefined => {
    const folder = folders.get(mounts.version2 === null ? controller : '');
    return folder === undefined ? undefined : join(folder, name);
  };
  const file = (controller: string, name: string): string | null => read(pathOf(controller, name));
  const counters = (): CgroupCounters | null => {
    if (mounts.version2 !== null) {
      const cpuUs = parseCounter(file('', 'cpu.stat'), 'usage_usec');
      const memoryKills = parseCounter(file('', 'memory.events'), 'oom_kill');
      if (memoryKills === null) return null;
      const processRefusals = parseCounter(file('', 'pids.events'), 'max');
      return { memoryKills, processRefusals, cpuMs: cpuUs === null ? null : Math.round(cpuUs / 1000) };
    }
    const memoryKills = parseCounter(file('memory', 'memory.oom_control'), 'oom_kill');
    if (memoryKills === null) return null;
    const cpuNs = file('cpuacct', 'cpuacct.usage');
    return {
      memoryKills,
      processRefusals: parseCounter(file('pids', 'pids.events'), 'max'),
      cpuMs: cpuNs === null ? null : Math.round(Number(cpuNs) / 1e6),
    };
  };
  let crowded = false;
  return {
    counters() {
      const counted = counters();
      if (counted === null)
        return crowded || forkWasRefused(containerId)
          ? { memoryKills: null, processRefusals: 1, cpuMs: null }
          : null;
      if (diesOfRefusal)
        crowded = Number(file('pids', 'pids.current')) > Number(file('pids', 'pids.max')) * crowdedShare;
      return counted;
    },
    onRefusedFork: (listener) => onChange(pathOf('pids', 'pids.events'), listener),
  };
}

function onChange(path: string | undefined, listener: () => void): () => void {
  if (path === undefined) return () => undefined;
  try {
    const watcher = watch(path, { persistent: false }, listener);
    watcher.on('error', () => watcher.close()); // its file is gone; the timer goes on looking
    return () => watcher.close();
  } catch {
    return () => undefined; // not counted here, or gone already: the timer sees which
  }
}
