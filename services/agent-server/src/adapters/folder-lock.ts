import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** The right to a state folder, until it is released or the process ends. */
export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Two agent servers on one folder would destroy each other's sandboxes as leftovers. The lock is an abstract socket
 * named after the folder: the kernel takes it back with the process, so that no stale lock has to be guessed at.
 * @throws CodedError `configuration_invalid`
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const name = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex');
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(`\0lemniscate-agent-server-${name}`, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new CodedError(
      'configuration_invalid',
      `Another agent server uses ${folder}. Stop it or set LEMNISCATE_STATE_FOLDER to another folder.`,
    );
  }
  server.unref();
  return {
    release: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
