import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeOf } from './start-time.ts';

interface ProcessRecord {
  readonly pid: number;
  readonly startTime: string;
}

/** Writes down a process of ours, so that a later run can end it if this one dies without doing so. */
export function recordProcess(folder: string, name: string, pid: number): void {
  const startTime = startTimeOf(pid);
  if (startTime === undefined) return;
  writeFileSync(join(folder, `${name}.pid`), JSON.stringify({ pid, startTime } satisfies ProcessRecord));
}

/** The undo of `recordProcess`. */
export function forgetProcess(folder: string, name: string): void {
  rmSync(join(folder, `${name}.pid`), { force: true });
}

/**
 * Ends what an earlier run left behind: first by SIGTERM, after `graceMs` by SIGKILL, to the whole process group.
 * @returns the names of what was still alive
 */
export async function endLeftovers(folder: string, graceMs = 5_000): Promise<string[]> {
  const records = readdirSync(folder)
    .filter((file) => file.endsWith('.pid'))
    .flatMap((file) => {
      const record = readRecord(join(folder, file));
      return record === undefined ? [] : [{ name: file.slice(0, -'.pid'.length), ...record }];
    });
  const alive = records.filter((record) => startTimeOf(record.pid) === record.startTime);
  for (const record of alive) signalGroup(record.pid, 'SIGTERM');
  const isGone = (record: ProcessRecord) => startTimeOf(record.pid) !== record.startTime;
  for (const deadline = Date.now() + graceMs; !alive.every(isGone) && Date.now() < deadline;) await sleep(20);
  for (const record of alive) if (!isGone(record)) signalGroup(record.pid, 'SIGKILL');
  for (const deadline = Date.now() + graceMs; !alive.every(isGone) && Date.now() < deadline;) await sleep(20);
  for (const record of records) if (isGone(record)) forgetProcess(folder, record.name);
  return alive.map((record) => record.name);
}

/** Signals a process group that we made (its leader is our child); a group that is gone already is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A record that a full disk or a kill cut short names nobody: it is dropped. */
function readRecord(file: string): ProcessRecord | undefined {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessRecord>;
    if (typeof value.pid === 'number' && value.pid > 1 && typeof value.startTime === 'string')
      return { pid: value.pid, startTime: value.startTime };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  rmSync(file, { force: true });
  return undefined;
}
