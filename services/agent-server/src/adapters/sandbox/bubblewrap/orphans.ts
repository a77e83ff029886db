import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** Answers of /proc about a process that may end while it is asked: null then. */
function ask<Answer>(question: () => Answer): Answer | null {
  try {
    return question();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

function commandOf(pid: number): string | null {
  return ask(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
}

function parentOf(pid: number): number | null {
  const stat = ask(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function holds(pid: number, file: string): boolean {
  const names = ask(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return names.some((name) => {
    const target = ask(() => readlinkSync(`/proc/${pid}/fd/${name}`));
    return target === file || target === `${file} (deleted)`;
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Kills what bwrap forks before bwrap itself is killed. The child waits for its parent before it asks the kernel to die
 * with it, so a parent that is killed in that moment leaves a child that waits for ever (seen: alive after 20 minutes).
 */
export function killLaunch(pid: number): void {
  const children = ask(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? '';
  for (const child of children.split(' ').filter(Boolean)) kill(Number(child));
  kill(pid);
}

/**
 * Ends the launches that an earlier process of this server left in that moment, when it was killed itself. They are in
 * no control group and have no folder yet; the filter that they hold open tells whose they are.
 * @returns their pids
 */
export function killOrphanedLaunches(seccompFile: string): number[] {
  const orphans = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      if (commandOf(pid) !== 'bwrap') return false;
      const parent = parentOf(pid);
      if (parent === null || parent === process.pid || commandOf(parent) === 'bwrap') return false;
      return holds(pid, seccompFile);
    });
  for (const pid of orphans) kill(pid);
  return orphans;
}
