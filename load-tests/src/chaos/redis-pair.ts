import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import type { DataFolder } from '@lemniscate/local/data-folder.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { unprivilegedUser } from '@lemniscate/local/process/unprivileged-user.ts';
import { startRedisNamed } from '@lemniscate/local/redis.ts';
import type { SupervisedService } from '@lemniscate/local/service-process.ts';
import type { Stores } from '@lemniscate/local/stores.ts';
import { killNow } from './kill-now.ts';

/** A store that another one can take the place of. */
export interface StorePair {
  /** Where everybody's lines lead at the moment. */
  url(): string;
  /** The process behind it. */
  process(): SupervisedService;
  /** Folder of what it keeps, below the data folder. */
  folder(): string;
  /** The other one follows: a failover may come. */
  isWhole(): boolean;
  /** Kills the first and has the other one take its place; resolves when it serves. It gets a follower behind that. */
  failOver(): Promise<void>;
}

interface Side {
  readonly url: string;
  readonly process: SupervisedService;
  readonly folder: string;
}

/**
 * Two Redis servers, one the replica of the other, as Sentinel keeps them: what the first had not passed on is lost with
 * it, which Redis promises nobody.
 */
export async function openRedisPair(
  data: DataFolder,
  stores: Stores,
  undo: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<StorePair> {
  const first = stores.processes.find(({ name }) => name === 'redis');
  if (first === undefined) throw new Error('chaos needs a Redis of its own');
  const claimed = await freePort();
  undo.defer(claimed.release);
  const told = (): void => undefined;
  const of = Number(new URL(stores.redisUrl).port);
  const other = await startRedisNamed(data, 'redis-2', claimed.port, unprivilegedUser(), told, of);
  undo.defer(other.process.stop);
  let primary: Side = { url: stores.redisUrl, process: first, folder: 'redis' };
  let standby: Side = { url: other.url, process: other.process, folder: 'redis-2' };
  let whole = false;
  const over = new AbortController();
  undo.defer(() => over.abort());

  /** Until it follows or the signal; the one that was killed may not be up again yet. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    const port = new URL(primary.url).port;
    const tell = changes(say);
    while (!signal.aborted) {
      const follows = await ask(standby.url, async (redis) => {
        await redis.replicaof('127.0.0.1', port);
        const info = await redis.info('replication');
        return info.includes('master_link_status:up') && info.includes(`master_port:${port}`);
      }).catch((error: unknown) => tell(`the replica of Redis does not follow yet: ${String(error)}`));
      if (follows === true) break;
      await delay(200);
    }
    whole = !signal.aborted;
  };
  void keepLeading(() => primary.url, over.signal, changes(say));
  await follow(AbortSignal.timeout(firstFollowMs));
  if (!whole) throw new Error(`the replica of Redis does not follow within ${firstFollowMs} ms`);
  return {
    url: () => primary.url,
    process: () => primary.process,
    folder: () => join('data', primary.folder),
    isWhole: () => whole,
    failOver: async () => {
      whole = false;
      killNow(primary.process.pid());
      const fault = await insist(async () => ask(standby.url, (redis) => redis.replicaof('NO', 'ONE')));
      if (fault === null) [primary, standby] = [standby, primary];
      void follow(over.signal);
      if (fault !== null) throw new Error('the replica of Redis does not take over', { cause: fault });
    },
  };
}

/**
 * One that took over and was killed comes back as the replica that it was started as; Sentinel would have it lead again. Without
 * this nobody can write for the rest of a storm.
 */
async function keepLeading(
  url: () => string,
  over: AbortSignal,
  tell: (line: string) => void,
): Promise<void> {
  while (!over.aborted) {
    await ask(url(), async (redis) => {
      if ((await redis.info('replication')).includes('role:slave')) await redis.replicaof('NO', 'ONE');
    }).catch((error: unknown) => tell(`the first Redis does not answer yet: ${String(error)}`));
    await delay(500);
  }
}

/** How long a stage waits for its first follower. Milliseconds. */
export const firstFollowMs = 120_000;

/** Says what it is told, and not the same twice in a row. */
export function changes(say: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) say(line);
    last = line;
  };
}

/**
 * A machine under a storm may be too slow for one answer.
 * @returns null when it was done, the last fault when it was not within half a minute
 */
export async function insist(act: () => Promise<unknown>): Promise<unknown> {
  let fault: unknown = new Error('there was no time for it');
  for (const until = performance.now() + 30_000; performance.now() < until; await delay(200)) {
    const done = await act().then(
      () => true,
      (error: unknown) => {
        fault = error;
        return false;
      },
    );
    if (done) return null;
  }
  return fault;
}

async function ask<Answer>(
  url: string,
  work: (redis: ReturnType<typeof connectRedis>) => Promise<Answer>,
): Promise<Answer> {
  const redis = connectRedis(new URL(url), () => undefined);
  try {
    return await work(redis);
  } finally {
    await closeRedis(redis, 500);
  }
}
