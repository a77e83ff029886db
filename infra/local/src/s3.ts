import { chownSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';
import type { UnprivilegedUser } from './process/unprivileged-user.ts';
import { superviseService } from './service-process.ts';
import type { SupervisedService } from './service-process.ts';

/** A running S3 of our own. */
export interface S3 {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly process: SupervisedService;
}

/** Starts the embedded S3 on 127.0.0.1 as a process of its own. It checks no signatures, so any key pair does. */
export async function startS3(
  data: DataFolder,
  port: number,
  user: UnprivilegedUser | undefined,
  say: (line: string) => void,
): Promise<S3> {
  const folder = data.folder('s3');
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const plan = {
    name: 's3',
    command: process.execPath,
    args: [join(import.meta.dirname, 's3-server.ts'), String(port), folder],
    env: { NODE_COMPILE_CACHE: join(folder, '.compile-cache') },
    cwd: folder,
    user,
    logFile: join(data.folder('logs'), 's3.log'),
    records: data.folder('run'),
    stopSignal: 'SIGTERM' as const,
    deathSignal: 'TERM' as const,
    stopGraceMs: 5_000,
    ready: { line: (line: string) => line === 'ready' },
    readyWithinMs: 30_000,
  };
  return {
    process: await superviseService(plan, say),
    endpoint: `http://127.0.0.1:${port}`,
    accessKeyId: 'lemniscate',
    secretAccessKey: data.keptSecret('s3-secret'),
  };
}
