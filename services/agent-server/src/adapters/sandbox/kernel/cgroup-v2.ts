import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, parseCounter, readNumbers } from './cgroup-files.ts';
import type { Cgroup, Cgroups } from './cgroup.ts';

const cpuPeriodUs = 100_000;
const controllers = ['memory', 'pids', 'cpu'] as const;

/**
 * Version 2: one folder. Its parents must hand the controllers down, which a parent with processes of its own
 * refuses unless it is the real root; a controller that cannot be had is reported as missing.
 */
export function createVersion2Cgroups(mount: string, serverId: string): Cgroups | null {
  const fleet = join(mount, 'lemniscate');
  const base = join(fleet, serverId);
  try {
    mkdirSync(base, { recursive: true });
  } catch {
    return null; // read-only here, as in most containers
  }
  for (const parent of [mount, fleet, base]) handDown(parent);
  const enabled = new Set(readFileSync(join(base, 'cgroup.subtree_control'), 'utf8').trim().split(/\s+/));
  const folder = (name: string): string => join(base, name);
  return {
    version: 2,
    memory: enabled.has('memory'),
    processes: enabled.has('pids'),
    cpu: enabled.has('cpu'),
    open: (name) => cgroupOf(folder(name)),
    exists: (name) => existsSync(folder(name)),
    list: () =>
      readdirSync(base, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name),
    create(name, limits) {
      mkdirSync(folder(name), { recursive: true });
      const set = (file: string, value: string): void => {
        const path = join(folder(name), file);
        if (existsSync(path)) writeFileSync(path, value); // the file exists only with its controller
      };
      set('memory.max', String(Math.floor(limits.memoryBytes)));
      set('memory.swap.max', '0');
      set('pids.max', String(limits.processes));
      set('cpu.max', `${Math.floor(limits.cpus * cpuPeriodUs)} ${cpuPeriodUs}`);
      return cgroupOf(folder(name));
    },
  };
}

function handDown(parent: string): void {
  for (const controller of controllers) {
    try {
      writeFileSync(join(parent, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      continue; // EBUSY or not available: what base finally has is read back
    }
  }
}

function cgroupOf(folder: string): Cgroup {
  const read = (file: string): string | null => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  };
  const members = (): number[] => readNumbers(join(folder, 'cgroup.procs'));
  return {
    members,
    add(pid) {
      writeFileSync(join(folder, 'cgroup.procs'), String(pid));
    },
    kill() {
      const file = join(folder, 'cgroup.kill'); // since Linux 5.14; reaches frozen tasks too
      if (existsSync(file)) return writeFileSync(file, '1');
      for (const pid of members()) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          continue; // gone since it was listed
        }
      }
    },
    counters() {
      const cpuUs = parseCounter(read('cpu.stat'), 'usage_usec');
      return {
        memoryKills: parseCounter(read('memory.events'), 'oom_kill'),
        processRefusals: parseCounter(read('pids.events'), 'max'),
        cpuMs: cpuUs === null ? null : Math.round(cpuUs / 1000),
      };
    },
    remove() {
      try {
        rmdirSync(folder);
        return true;
      } catch (error) {
        return isMissing(error);
      }
    },
  };
}
