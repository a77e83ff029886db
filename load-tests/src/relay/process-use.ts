import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of /proc in a second; fixed on Linux. */
const ticksPerSecond = 100;

/** CPU seconds of a process and its children, as far as they live. */
export function cpuSeconds(pid: number): number {
  const own = ticksOf(pid);
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid,
  );
  return (own + children.reduce((sum, child) => sum + ticksOf(Number(child)), 0)) / ticksPerSecond;
}

/** Resident memory of a process, in kilobytes. */
export function residentKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function fieldsOf(pid: number): string[] {
  return read(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ');
}
const ticksOf = (pid: number): number => Number(fieldsOf(pid)[11] ?? 0) + Number(fieldsOf(pid)[12] ?? 0);
const parentOf = (pid: number): number => Number(fieldsOf(pid)[1] ?? 0);

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended between listing and reading.
    return '';
  }
}
