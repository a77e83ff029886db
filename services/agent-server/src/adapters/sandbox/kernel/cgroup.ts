import { existsSync, readFileSync } from 'node:fs';
import { createVersion1Cgroups } from './cgroup-v1.ts';
import { createVersion2Cgroups } from './cgroup-v2.ts';

/** Bounds of one control group: bytes, tasks, and CPUs (may be a fraction). */
export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
}

/** What the kernel counted in a control group. Null where this machine does not count it. */
export interface CgroupCounters {
  /** Processes killed because the memory bound was reached. */
  readonly memoryKills: number | null;
  /** Forks refused because the process bound was reached. */
  readonly processRefusals: number | null;
  readonly cpuMs: number | null;
}

/** One control group, made for one sandbox. */
export interface Cgroup {
  add(pid: number): void;
  /** Host pids that are in it right now. */
  members(): number[];
  /** Kills every member, frozen ones too. */
  kill(): void;
  counters(): CgroupCounters;
  /** Removes it; false while it still has members. */
  remove(): boolean;
}

/** The control groups of one server, under a folder of its own. */
export interface Cgroups {
  readonly version: 1 | 2;
  readonly memory: boolean;
  readonly processes: boolean;
  readonly cpu: boolean;
  create(name: string, limits: CgroupLimits): Cgroup;
  /** One that exists already, of an earlier process. */
  open(name: string): Cgroup;
  exists(name: string): boolean;
  list(): string[];
}

/** A controller's mount and our own place in it. */
export interface CgroupMounts {
  /** Version 1: folder by controller. */
  readonly version1: ReadonlyMap<string, string>;
  /** Version 2 with a memory controller, else null: hybrid hosts mount it without. */
  readonly version2: string | null;
}

const wanted = ['memory', 'pids', 'cpu', 'cpuacct', 'freezer'];

/** Reads /proc/self/mountinfo: which controllers are mounted where. */
export function readCgroupMounts(mountinfo: string, readControllers: (path: string) => string): CgroupMounts {
  const version1 = new Map<string, string>();
  let version2: string | null = null;
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const path = left.split(' ')[4];
    const [type, , options = ''] = right.split(' ');
    if (path === undefined) continue;
    if (type === 'cgroup')
      for (const name of options.split(',')) if (wanted.includes(name)) version1.set(name, path);
    if (type === 'cgroup2' && readControllers(path).split(/\s+/).includes('memory')) version2 = path;
  }
  return { version1, version2 };
}

function controllersOf(path: string): string {
  const file = `${path}/cgroup.controllers`;
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/**
 * The control groups that this process may make, or null: not root, none mounted, or mounted read-only. Version
 * 2 is taken where it has the memory controller.
 */
export function openCgroups(serverId: string): Cgroups | null {
  if (process.getuid?.() !== 0) return null;
  const mounts = readCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'), controllersOf);
  if (mounts.version2 !== null) return createVersion2Cgroups(mounts.version2, serverId);
  if (mounts.version1.size > 0) return createVersion1Cgroups(mounts.version1, serverId);
  return null;
}
