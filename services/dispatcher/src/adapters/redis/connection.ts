import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { redisAddress } from './address.ts';
import { writeOnceATurn } from './one-write.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** A command that has no answer by then fails: a request must not wait for a Redis that is away. */
const commandTimeoutMs = 2_000;

/** Options of a connection that gives up on a command rather than holding its caller. */
export const callerOptions = {
  commandTimeout: commandTimeoutMs,
  maxRetriesPerRequest: 1,
  connectTimeout: 2_000,
  retryStrategy,
} as const satisfies RedisOptions;

/** Options of a connection that blocks for work: it waits for Redis to come back, whatever it takes. */
export const workerOptions = {
  maxRetriesPerRequest: null,
  connectTimeout: 2_000,
  retryStrategy,
} as const satisfies RedisOptions;

/** Reconnects for ever, soon at first and at least each second later. Milliseconds. */
export function retryStrategy(times: number): number {
  return Math.min(50 * times, 1_000);
}

/**
 * Connects a caller. Errors go to the listener; without one ioredis prints them itself.
 * @param onError told of each failed connection
 */
export function connectRedis(url: URL, onError: (error: Error) => void): Redis {
  const redis = new Redis({ ...redisAddress(url), ...callerOptions });
  redis.on('error', onError);
  writeOnceATurn(redis);
  return redis;
}

/**
 * Refuses a Redis that would forget queues and reservations when its memory is full.
 * @throws CodedError `service_unreachable`, `configuration_invalid`
 */
export async function checkRedis(redis: Redis, url: URL): Promise<void> {
  const place = `${url.hostname}:${url.port === '' ? '6379' : url.port}`;
  const memory = await redis.info('memory').catch((error: unknown) => {
    throw new CodedError(
      'service_unreachable',
      `Redis at ${place} cannot be used. Check REDIS_URL and that the server runs.`,
      { service: 'redis', place },
      error,
    );
  });
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'unknown';
  if (policy === 'noeviction') return;
  throw new CodedError(
    'configuration_invalid',
    `Redis at ${place} evicts keys (maxmemory-policy ${policy}), so it could forget waiting sessions. Set maxmemory-policy to noeviction.`,
    { service: 'redis', policy },
  );
}

/** Closes within the time, whatever Redis does. */
export async function closeRedis(redis: Redis, timeoutMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  const quit = redis.quit().then(
    () => undefined,
    // A connection that is down has nothing to say goodbye to.
    () => undefined,
  );
  await Promise.race([quit, late]).finally(() => clearTimeout(timer));
  redis.disconnect();
}
