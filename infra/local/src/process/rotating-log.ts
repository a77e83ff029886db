import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

/** A process' log: one file and one older one, plus the last lines in memory for error messages. */
export interface RotatingLog {
  readonly file: string;
  write(chunk: string): void;
  lastLines(): readonly string[];
  close(): void;
}

const defaultMaxBytes = 8 * 1024 * 1024;
const keptLines = 20;
const maxLine = 2_000;

/** Opens a log for appending. At `maxBytes` (8 MiB) the file becomes FILE.1 (the one before is dropped) and a new one begins. */
export function openRotatingLog(file: string, maxBytes = defaultMaxBytes): RotatingLog {
  const open = () => openSync(file, 'a', 0o600);
  let descriptor = open();
  let size = fstatSync(descriptor).size;
  let tail: string[] = [];
  const rotate = () => {
    closeSync(descriptor);
    renameSync(file, `${file}.1`);
    descriptor = open();
    size = 0;
  };
  return {
    file,
    write: (chunk) => {
      tail = [...tail, ...chunk.split('\n').filter((line) => line !== '')]
        .slice(-keptLines)
        .map((line) => line.slice(0, maxLine));
      size += writeSync(descriptor, chunk);
      if (size > maxBytes) rotate();
    },
    lastLines: () => tail,
    close: () => closeSync(descriptor),
  };
}
