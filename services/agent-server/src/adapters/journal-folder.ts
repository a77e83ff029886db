import { mkdir, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JournalFiles, JournalStore } from '../application/ports/journal-store.ts';

/** Journals as folders `SESSION.ATTEMPT` with one file a segment. */
export function createJournalFolder(folder: string): JournalStore {
  return {
    open: (held) => openJournal(join(folder, `${held.sessionId}.${held.attempt}`)),
    recover: () => rm(folder, { recursive: true, force: true }),
  };
}

function openJournal(folder: string): JournalFiles {
  const handles = new Map<number, Promise<FileHandle>>();
  let made: Promise<unknown> | null = null;

  async function handle(segment: number): Promise<FileHandle> {
    made ??= mkdir(folder, { recursive: true, mode: 0o700 });
    await made;
    const known = handles.get(segment);
    if (known !== undefined) return known;
    const opened = open(join(folder, `${segment}.ndjson`), 'a+', 0o600);
    handles.set(segment, opened);
    return opened;
  }

  async function forget(segment: number): Promise<void> {
    const opened = handles.get(segment);
    handles.delete(segment);
    // A handle that never opened has nothing to close; whoever wanted it has had the error.
    await opened?.then((file) => file.close()).catch(() => undefined);
  }

  return {
    append: async (segment, bytes) => {
      try {
        await (await handle(segment)).appendFile(bytes);
      } catch (error) {
        throw writeError(folder, error);
      }
    },
    read: async (segment, offset, length) => {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await (await handle(segment)).read(buffer, 0, length, offset);
      if (bytesRead === length) return buffer;
      throw new CodedError('internal', `The journal ${folder} is shorter than what was written to it.`);
    },
    drop: async (segment) => {
      await forget(segment);
      await rm(join(folder, `${segment}.ndjson`), { force: true });
    },
    remove: async () => {
      for (const segment of handles.keys()) await forget(segment);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function writeError(folder: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new CodedError(
    'disk_full',
    `The disk that holds the journal ${folder} is full. Free space or move LEMNISCATE_STATE_FOLDER.`,
    {},
    error,
  );
}
