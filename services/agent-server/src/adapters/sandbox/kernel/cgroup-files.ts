import { readFileSync } from 'node:fs';

/** True for ENOENT and ENODEV: the control group is gone, which is an answer. */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ENODEV';
}

/** Numbers, one a line; none when the file is gone. */
export function readNumbers(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** One counter of a file with `name value` lines; null when the file or the line is missing. */
export function parseCounter(text: string | null, name: string): number | null {
  const line = text?.split('\n').find((row) => row.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}
