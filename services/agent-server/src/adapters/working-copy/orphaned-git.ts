import { readFileSync, readdirSync } from 'node:fs';

/** Answers of /proc about a process that may end while it is asked, or is not ours to look at: null then. */
function ask(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return null;
    throw error;
  }
}

function parentOf(pid: number): number {
  const stat = ask(`/proc/${pid}/stat`) ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

function isOurs(pid: number): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (at === process.pid) return true;
  return false;
}

/**
 * Ends what git of an earlier process of this server left. git itself dies with its server; its helpers (`remote-https`,
 * `index-pack`, ssh) end when they next miss it, which a slow remote delays at will. All of them carry the name of this
 * server's configuration file in their environment.
 * @param configFile the file that every git of this server and state folder is given
 * @returns their pids
 */
export function endOrphanedGit(configFile: string): number[] {
  const mark = Buffer.from(`\0GIT_CONFIG_GLOBAL=${configFile}\0`).toString('latin1');
  const orphans = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => `\0${ask(`/proc/${pid}/environ`) ?? ''}`.includes(mark) && !isOurs(pid));
  for (const pid of orphans)
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  return orphans;
}
