import { chownSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';
import { startProcess } from './process/managed-process.ts';
import type { ManagedProcess } from './process/managed-process.ts';
import type { UnprivilegedUser } from './process/unprivileged-user.ts';

/** A running S3 of our own. */
export interface S3 {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly process: ManagedProcess;
}

/** Starts the embedded S3 on 127.0.0.1 as a process of its own. It checks no signatures, so any key pair does. */
export async function startS3(
  data: DataFolder,
  port: number,
  user: UnprivilegedUser | undefined,
): Promise<S3> {
  const folder = data.folder('s3');
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const process_ = await startProcess({
    name: 's3',
    command: process.execPath,
    args: [join(import.meta.dirname, 's3-server.ts'), String(port), folder],
    env: { NODE_COMPILE_CACHE: join(folder, '.compile-cache') },
    cwd: folder,
    user,
    logFile: join(data.folder('logs'), 's3.log'),
    records: data.folder('run'),
    stopSignal: 'SIGTERM',
    deathSignal: 'TERM',
    stopGraceMs: 5_000,
    ready: { line: (line) => line === 'ready' },
    readyWithinMs: 30_000,
  });
  return {
    process: process_,
    endpoint: `http://127.0.0.1:${port}`,
    accessKeyId: 'lemniscate',
    secretAccessKey: data.keptSecret('s3-secret'),
  };
}
