import { closeSync, constants, openSync, readSync } from 'node:fs';

/** What a kernel keeps is a few thousand records; more in one reading means that somebody floods it meanwhile. */
const mostRecords = 50_000;

/** One record and its attributes; the kernel cuts longer ones (`CONSOLE_EXT_LOG_MAX`). */
const recordBytes = 8_192;

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/**
 * The records that the kernel's log holds right now, oldest first. Nothing where it may not be read (not root, or a
 * container without the device).
 */
export function* kernelLog(path = '/dev/kmsg'): Generator<string> {
  let log: number;
  try {
    log = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return; // not ours to read: callers take it for a log that says nothing
  }
  const buffer = Buffer.allocUnsafe(recordBytes);
  try {
    for (let records = 0; records < mostRecords; records += 1) {
      try {
        const bytes = readSync(log, buffer);
        if (bytes === 0) return;
        yield buffer.toString('utf8', 0, bytes);
      } catch (error) {
        if (isCode(error, 'EAGAIN')) return; // the end
        if (!isCode(error, 'EPIPE')) throw error; // overwritten while it was read: the next one follows
      }
    }
  } finally {
    closeSync(log);
  }
}

/**
 * Whether the kernel has logged that it refused a fork in the control group of this container. It says so at the first
 * refusal of each group (`pids_event` in kernel/cgroup/pids.c), and its log outlives the group.
 */
export function forkWasRefused(containerId: string, log: Iterable<string> = kernelLog()): boolean {
  for (const record of log)
    if (record.includes('fork rejected by pids controller') && record.includes(containerId)) return true;
  return false;
}
