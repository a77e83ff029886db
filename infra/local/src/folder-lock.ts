import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DataFolder } from './data-folder.ts';

/** Held while a fleet uses its data folder. */
export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Takes the data folder for this process. The lock is an abstract socket named by the folder: the kernel frees it
 * with the process, so a `kill -9` leaves nothing stale; the file beside it only tells who holds it.
 * @throws CodedError `conflict` naming the holder
 */
export async function lockFolder(data: DataFolder): Promise<FolderLock> {
  const digest = createHash('sha256').update(realpathSync(data.root)).digest('hex').slice(0, 32);
  const holderFile = data.path('holder.json');
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((settle, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      fail(error.code === 'EADDRINUSE' ? heldError(data.root, holderFile) : error),
    );
    server.listen(`\0lemniscate-${digest}`, settle);
  });
  server.unref();
  writeFileSync(holderFile, JSON.stringify({ pid: process.pid, since: new Date().toISOString() }));
  return { release: () => new Promise((settle) => void server.close(() => settle())) };
}

function heldError(root: string, holderFile: string): CodedError {
  const holder = JSON.parse(readFileSync(holderFile, 'utf8')) as { pid?: number; since?: string };
  return new CodedError(
    'conflict',
    `Another start (process ${holder.pid}, since ${holder.since}) uses the data folder ${root}. Stop it with Ctrl-C there, or set LEMNISCATE_DATA to another folder for this one.`,
    { folder: root, pid: holder.pid ?? null },
  );
}
