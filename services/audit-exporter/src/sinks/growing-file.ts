import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readTail } from './file-tail.ts';
import type { LineShape } from './file-tail.ts';

/** A file of lines that only grows. */
export interface GrowingFile<Line> {
  /** Makes ready, also after a failure. @returns the last whole line */
  open(): Promise<Line | null>;
  /** Written and synced when it resolves. */
  write(lines: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Lines are written at the offset where the last whole line ends, never "at the end": where lines are a pure function of
 * the log, an exporter that was frozen in the middle of a write and wakes after another took over writes the very bytes
 * that are there already.
 */
export function createGrowingFile<Line>(place: string, shape: LineShape<Line>): GrowingFile<Line> {
  let handle: FileHandle | null = null;
  let offset = 0;
  const close = async (): Promise<void> => {
    const open = handle;
    handle = null;
    await open?.close();
  };
  return {
    open: async () => {
      await close();
      try {
        handle = await openToGrow(place);
        const tail = await readTail(handle, place, shape);
        // A torn last line was never proved to be here: its entry comes again and is written over it. Cutting it off
        // instead could, in a process that was frozen just before, cut off what its successor has written since.
        offset = tail.end;
        return tail.last;
      } catch (error) {
        await close();
        throw nameFault(error, place);
      }
    },
    write: async (lines) => {
      if (handle === null) throw new CodedError('internal', `The file sink ${place} is not open.`);
      const bytes = Buffer.from(lines);
      try {
        await writeAt(handle, bytes, offset);
        await handle.datasync();
      } catch (error) {
        throw nameFault(error, place);
      }
      offset += bytes.length;
    },
    close,
  };
}
async function openToGrow(place: string): Promise<FileHandle> {
  await mkdir(dirname(place), { recursive: true });
  try {
    return await open(place, 'r+');
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  const created = await open(place, 'wx+', 0o600);
  // without this a machine that crashes may forget that the file ever was
  const folder = await open(dirname(place), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return created;
}

async function writeAt(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, offset + written);
    written += bytesWritten;
  }
}

function nameFault(error: unknown, place: string): unknown {
  if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT'))
    return new CodedError(
      'disk_full',
      `The disk of the audit sink ${place} is full. Make room; nothing is lost meanwhile.`,
      {},
      error,
    );
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
