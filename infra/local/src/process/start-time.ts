import { readFileSync } from 'node:fs';

/**
 * When a process was started, in clock ticks since boot (`starttime`, field 22 of /proc/PID/stat, proc(5)), or
 * undefined when there is none. Pid and start time together name a process; a pid alone is used again.
 */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the command in field 2 may hold spaces and brackets: fields are counted from its last bracket
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
