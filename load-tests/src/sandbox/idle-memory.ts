import { readFileSync, readdirSync } from 'node:fs';
import type {
  Sandbox,
  SandboxDriver,
  SandboxProfile,
} from '@lemniscate/agent-server/application/ports/sandbox-driver.ts';

/** Programs that a sandbox consists of on the host: what bwrap or the engine start for it. */
const programs = /lemniscate\/(node|bash)|bwrap|containerd-shim|runsc|runc/;

function processes(): Map<number, string> {
  const found = new Map<number, string>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      found.set(Number(name), readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' '));
    } catch {
      continue; // gone since it was listed
    }
  }
  return found;
}

/** Proportional set size: what is shared, above all the Node program, is divided among those who share it. */
function pssKiB(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // gone, or a kernel thread
  }
}

/** Boots `count` sandboxes and adds up the memory of the processes that have appeared for them. */
export async function idleMemory(
  driver: SandboxDriver,
  profile: SandboxProfile,
  count: number,
): Promise<{ readonly eachMiB: number; readonly allMiB: number }> {
  const before = new Set(processes().keys());
  const sandboxes: Sandbox[] = [];
  try {
    for (let index = 0; index < count; index += 1)
      sandboxes.push(await driver.boot(`sbx_idle_${index}`, profile));
    const mine = [...processes()].filter(([pid, line]) => !before.has(pid) && programs.test(line));
    const allMiB = mine.reduce((sum, [pid]) => sum + pssKiB(pid), 0) / 1024;
    return { eachMiB: Math.round((allMiB / count) * 10) / 10, allMiB: Math.round(allMiB) };
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  }
}
