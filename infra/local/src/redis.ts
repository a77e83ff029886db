import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';
import { findProgram } from './packages.ts';
import type { UnprivilegedUser } from './process/unprivileged-user.ts';
import { superviseService } from './service-process.ts';
import type { SupervisedService } from './service-process.ts';

/** A running Redis of our own. */
export interface Redis {
  readonly url: string;
  readonly process: SupervisedService;
}

/** Starts an own `redis-server` on 127.0.0.1; one that the machine already runs is left alone. */
export async function startRedis(
  data: DataFolder,
  port: number,
  user: UnprivilegedUser | undefined,
  say: (line: string) => void,
): Promise<Redis> {
  return startRedisNamed(data, 'redis', port, user, say);
}

/** The same under another name, as a replica of the Redis at `of` where that is given; they share a password. */
export async function startRedisNamed(
  data: DataFolder,
  name: string,
  port: number,
  user: UnprivilegedUser | undefined,
  say: (line: string) => void,
  of: number | null = null,
): Promise<Redis> {
  const folder = data.folder(name);
  const password = data.keptSecret('redis-password');
  // a file, because arguments are readable by every user of the machine
  const configuration = join(folder, 'redis.conf');
  const replica = of === null ? '' : `replicaof 127.0.0.1 ${of}\n`;
  writeFileSync(configuration, `${settings(port, folder, password)}${replica}`, { mode: 0o600 });
  if (user !== undefined) for (const path of [folder, configuration]) chownSync(path, user.uid, user.gid);
  const plan = {
    name,
    command: findProgram('redis-server') ?? 'redis-server',
    args: [configuration],
    env: { LC_ALL: 'C' },
    cwd: folder,
    user,
    logFile: join(data.folder('logs'), `${name}.log`),
    records: data.folder('run'),
    stopSignal: 'SIGTERM' as const,
    deathSignal: 'TERM' as const,
    stopGraceMs: 5_000,
    ready: { line: (line: string) => line.includes('Ready to accept connections') },
    readyWithinMs: 30_000,
  };
  const process = await superviseService(plan, say);
  return { process, url: `redis://:${password}@127.0.0.1:${port}/0` };
}

/** `noeviction`: BullMQ loses jobs under any other policy. */
function settings(port: number, folder: string, password: string): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `masterauth ${password}`,
    `dir "${folder.replaceAll(/(["\\])/g, '\\$1')}"`,
    'maxmemory 512mb',
    'maxmemory-policy noeviction',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    'daemonize no',
    '',
  ].join('\n');
}
