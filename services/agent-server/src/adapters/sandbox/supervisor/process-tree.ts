import { readdirSync, readFileSync } from 'node:fs';

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly zombie: boolean;
  /** Clock ticks since boot: with the pid, a name that is never given twice. */
  readonly started: number;
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
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const [state = '', parent = ''] = fields;
      const zombie = state === 'Z' || state === 'X';
      rows.push({ pid, parent: Number(parent), zombie, started: Number(fields[19]) });
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

/** Stops or continues one process, or with -1 all that may be signalled. */
function send(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal);
  } catch {
    return; // ESRCH: nobody is there to stop
  }
}

/** Stops everything but PID 1 and the supervisor. The kernel holds its task list meanwhile: no fork escapes. */
export function stopAll(): void {
  send(-1, 'SIGSTOP');
}

/** Lets all go on, the youngest first: a shell that looks after its children must not find them stopped. */
export function continueAll(): void {
  const own = new Set([1, process.pid]);
  const rows = processTable().filter(({ pid, zombie }) => !own.has(pid) && !zombie);
  rows.sort((left, right) => right.started - left.started || right.pid - left.pid);
  for (const { pid } of rows) send(pid, 'SIGCONT');
  send(-1, 'SIGCONT');
}

/** The processes with these pids and everything below them. */
function withDescendants(rows: readonly ProcessRow[], roots: Iterable<number>): Set<number> {
  const found = new Set(roots);
  for (let grown = true; grown;) {
    grown = false;
    for (const row of rows) {
      if (!found.has(row.parent) || found.has(row.pid)) continue;
      found.add(row.pid);
      grown = true;
    }
  }
  return found;
}

/** Commands under way: their first process, and when it started. */
const running = new Map<number, number>();
/** Which command a process was seen below while several ran; by pid and start. */
let owners = new Map<string, number>();
let learning: NodeJS.Timeout | undefined;

const learnEveryMs = 200;

const nameOf = ({ pid, started }: ProcessRow): string => `${pid}:${started}`;

function learnOwners(): void {
  const rows = processTable();
  const seen = new Map<string, number>();
  const trees = [...running.keys()].map((root) => [root, withDescendants(rows, [root])] as const);
  for (const row of rows) {
    const below = trees.find(([, tree]) => tree.has(row.pid))?.[0] ?? owners.get(nameOf(row));
    if (below !== undefined) seen.set(nameOf(row), below);
  }
  owners = seen;
}

/** A command has started. While several run, it is learnt now and then which process belongs to which. */
export function beginCommand(root: number): void {
  running.set(root, processTable().find(({ pid }) => pid === root)?.started ?? 0);
  if (running.size > 1) learning ??= setInterval(learnOwners, learnEveryMs).unref();
}

export function endCommand(root: number): void {
  running.delete(root);
  if (running.size > 1) return;
  clearInterval(learning);
  learning = undefined;
  owners.clear();
}

/** A process that forks for ever meets the bound of processes; looking again more often than this helps nobody. */
const maxLooks = 20;

/**
 * Kills a command with everything that it started: its process group, what moved to another group or session, and what
 * has lost its parent (a double fork) and so belongs to PID 1 now. Such an orphan is this command's when it is younger
 * than the command and was not seen below another one. Looks again until nothing of it lives: a fork may be under way.
 */
export function killCommand(root: number): void {
  const since = running.get(root) ?? Number.POSITIVE_INFINITY;
  const others = [...running.keys()].filter((pid) => pid !== root);
  for (let look = 0; look < maxLooks; look += 1) {
    const rows = processTable();
    const theirs = withDescendants(rows, others);
    const orphans = rows.filter((row) => {
      const isOrphan = row.parent === 1 && row.pid !== process.pid && row.started >= since;
      return isOrphan && !theirs.has(row.pid) && (owners.get(nameOf(row)) ?? root) === root;
    });
    const doomed = withDescendants(rows, [root, ...orphans.map(({ pid }) => pid)]);
    sendKill(-root);
    for (const pid of doomed) sendKill(pid);
    const left = rows.some((row) => doomed.has(row.pid) && !row.zombie);
    if (!left) return;
  }
}
