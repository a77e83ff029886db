import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, parseCounter, readNumbers } from './cgroup-files.ts';
import type { Cgroup, Cgroups } from './cgroup.ts';

/** CPU quotas are given per this many microseconds; the kernel's own default. */
const cpuPeriodUs = 100_000;

/** Version 1: one folder a controller, each made and removed. 0.35 ms for five, measured. */
export function createVersion1Cgroups(mounts: ReadonlyMap<string, string>, serverId: string): Cgroups | null {
  const bases = new Map<string, string>();
  for (const [controller, mount] of mounts) {
    const base = join(mount, 'lemniscate', serverId);
    try {
      mkdirSync(base, { recursive: true });
      removeIfEmpty(base); // it was to see whether we may; create() makes it again
      bases.set(controller, base);
    } catch {
      continue; // read-only here, as in most containers: the capability is then reported as missing
    }
  }
  if (bases.size === 0) return null;
  // cpu and cpuacct may be one mount
  const folders = (name: string): string[] => [
    ...new Set([...bases.values()].map((base) => join(base, name))),
  ];

  const open = (name: string): Cgroup => cgroupOf(bases, name, folders(name));
  return {
    version: 1,
    memory: bases.has('memory'),
    processes: bases.has('pids'),
    cpu: bases.has('cpu'),
    open,
    exists: (name) => folders(name).some((folder) => existsSync(folder)),
    list: () => [...new Set([...bases.values()].flatMap(childFolders))],
    create(name, limits) {
      for (const folder of folders(name)) mkdirSync(folder, { recursive: true });
      const set = (controller: string, file: string, value: number): void => {
        const base = bases.get(controller);
        if (base !== undefined) writeFileSync(join(base, name, file), String(Math.floor(value)));
      };
      set('memory', 'memory.limit_in_bytes', limits.memoryBytes);
      const memory = bases.get('memory');
      // absent where swap is not accounted
      if (memory !== undefined && existsSync(join(memory, name, 'memory.memsw.limit_in_bytes')))
        set('memory', 'memory.memsw.limit_in_bytes', limits.memoryBytes);
      set('pids', 'pids.max', limits.processes);
      set('cpu', 'cpu.cfs_period_us', cpuPeriodUs);
      set('cpu', 'cpu.cfs_quota_us', limits.cpus * cpuPeriodUs);
      return open(name);
    },
  };
}

/** The server's own folder goes with its last sandbox; create() makes it again. */
function removeIfEmpty(base: string): void {
  try {
    rmdirSync(base);
  } catch {
    return; // others are in it, or it is gone
  }
}

function childFolders(base: string): string[] {
  if (!existsSync(base)) return [];
  return readdirSync(base, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function cgroupOf(bases: ReadonlyMap<string, string>, name: string, folders: readonly string[]): Cgroup {
  const read = (controller: string, file: string): string | null => {
    const base = bases.get(controller);
    if (base === undefined) return null;
    try {
      return readFileSync(join(base, name, file), 'utf8');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  };
  const members = (): number[] => [
    ...new Set(folders.flatMap((folder) => readNumbers(join(folder, 'cgroup.procs')))),
  ];
  return {
    add(pid) {
      for (const folder of folders) writeFileSync(join(folder, 'cgroup.procs'), String(pid));
    },
    members,
    kill() {
      const freezer = bases.get('freezer');
      const state = freezer === undefined ? null : join(freezer, name, 'freezer.state');
      // a frozen task ignores SIGKILL until it is thawed (measured on version 1)
      if (state !== null && existsSync(state)) writeFileSync(state, 'THAWED');
      for (const pid of members()) killQuietly(pid);
    },
    counters() {
      const cpu = read('cpuacct', 'cpuacct.usage');
      return {
        memoryKills: parseCounter(read('memory', 'memory.oom_control'), 'oom_kill'),
        processRefusals: parseCounter(read('pids', 'pids.events'), 'max'),
        cpuMs: cpu === null ? null : Math.round(Number(cpu) / 1e6),
      };
    },
    remove() {
      let gone = true;
      for (const folder of folders) {
        try {
          rmdirSync(folder);
        } catch (error) {
          if (!isMissing(error)) gone = false;
        }
      }
      for (const base of bases.values()) removeIfEmpty(base);
      return gone;
    },
  };
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // gone since it was listed
  }
}
