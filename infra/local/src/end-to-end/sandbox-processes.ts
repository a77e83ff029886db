import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The process with this command line and those above it inside its sandbox' own process namespace.
 * @throws Error when none has it
 */
export function sandboxOf(command: string): number[] {
  const all = processes();
  const found = all.find(({ pid }) => commandOf(pid) === command);
  if (found === undefined) throw new Error(`no process runs ${command}`);
  const byPid = new Map(all.map((entry) => [entry.pid, entry]));
  const pids: number[] = [];
  for (let at: typeof found | undefined = found; at !== undefined && at.depth > 1; at = byPid.get(at.parent))
    pids.push(at.pid);
  return pids;
}

/**
 * Waits until none of the processes lives. They are nobody's children here and /proc tells nobody of changes, so that
 * looking is the only way.
 * @throws Error after `withinMs`
 */
export async function processesGone(pids: readonly number[], withinMs = 30_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (pids.some(isAlive)) {
    if (performance.now() > deadline) throw new Error(`still alive after ${withinMs} ms: ${pids.join(' ')}`);
    await delay(5);
  }
}

/** Every process, with how many process namespaces deep it is. */
function processes(): { readonly pid: number; readonly parent: number; readonly depth: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const status = read(`/proc/${name}/status`);
      const parent = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
      const depth = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).length ?? 1;
      return status === '' ? [] : [{ pid: Number(name), parent, depth }];
    });
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

/** Whether a process is there and not only its exit code. */
function isAlive(pid: number): boolean {
  const state = /^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`))?.[1];
  return state !== undefined && state !== 'Z';
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // It ended while we looked.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
