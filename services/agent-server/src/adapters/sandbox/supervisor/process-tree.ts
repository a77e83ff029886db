import { readdirSync, readFileSync } from 'node:fs';

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly zombie: boolean;
}

/** Every process of the pid namespace. A process that ends while being read is left out. */
export function processTable(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // the name in parentheses may hold anything, spaces and parentheses too
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      rows.push({ pid, parent: Number(parent), zombie: state === 'Z' || state === 'X' });
    } catch {
      continue; // gone since readdir
    }
  }
  return rows;
}

/** Whoever is gone already is as dead as was wanted. */
export function sendKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // ESRCH: already gone, which is what was wanted
  }
}

/** Kills a command's process group and those of its descendants that moved to another group. */
export function killTree(root: number): void {
  const rows = processTable();
  const doomed = new Set([root]);
  for (let grown = true; grown;) {
    grown = false;
    for (const row of rows) {
      if (!doomed.has(row.parent) || doomed.has(row.pid)) continue;
      doomed.add(row.pid);
      grown = true;
    }
  }
  sendKill(-root);
  for (const pid of doomed) sendKill(pid);
}
