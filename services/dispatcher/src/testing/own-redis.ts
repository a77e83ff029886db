import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { within } from './within.ts';

/** A Redis of the test's own: it may be flushed, stopped and started without harm to other tests. */
export interface OwnRedis {
  readonly url: URL;
  flushAll(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** Starts the machine's redis-server without persistence: a restart forgets everything, which is the harder case. */
export async function startOwnRedis(settings: readonly string[] = []): Promise<OwnRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-redis-'));
  const port = await freePort();
  const url = new URL(`redis://127.0.0.1:${port}`);
  let child: ChildProcess | null = null;

  const start = async (): Promise<void> => {
    child = spawn(
      'redis-server',
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        '--save',
        '',
        '--appendonly',
        'no',
        ...settings,
      ],
      { stdio: 'ignore' },
    );
    await within(30_000, 'redis-server answers', async () => {
      const redis = new Redis(url.href, {
        lazyConnect: true,
        maxRetriesPerRequest: 0,
        retryStrategy: () => null,
      });
      redis.on('error', () => undefined);
      try {
        return (await redis.ping()) === 'PONG';
      } catch {
        return false;
      } finally {
        redis.disconnect();
      }
    });
  };
  const stop = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    url,
    start,
    stop,
    flushAll: async () => {
      const redis = new Redis(url.href);
      await redis.flushall();
      redis.disconnect();
    },
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
