import { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { lineAnswerSchema, lineRequestSchema } from '@lemniscate/shared/protocol/server-line.ts';
import type { LineAnswer, LineRequest } from '@lemniscate/shared/protocol/server-line.ts';
import type { ServerLines } from '../../application/ports/server-lines.ts';
import type { Log } from '../../application/ports/log.ts';
import { redisAddress } from './address.ts';
import { callerOptions, workerOptions } from './connection.ts';

export interface RedisServerLines extends ServerLines {
  close(): void;
}

const prefix = 'lemniscate:line:';
const requestsOf = (serverId: string): string => `${prefix}requests:{${serverId}}`;
/** The server is part of the name: nobody answers what another server was asked. */
const answersOf = (serverId: string, id: string): string => `${prefix}answers:{${serverId}}:${id}`;

/** Requests that may wait for one server; a workstation runs one session. */
const maxWaiting = 32;

/**
 * Lines over Redis: a list a server, which lives no longer than its asker waits, and publish and subscribe to wake who
 * waits. What is lost with Redis is asked again or runs into its deadline, as a call to a dead address would.
 * @param newId ids of requests
 */
export function createRedisServerLines(options: {
  readonly url: URL;
  readonly log: Log;
  readonly newId: () => string;
}): RedisServerLines {
  const { url, newId } = options;
  const commands = connect(url, callerOptions, options.log);
  const wakes = createWakes(connect(url, workerOptions, options.log));

  const take = async (serverId: string): Promise<LineRequest[]> => {
    const waiting = (await commands.lpop(requestsOf(serverId), maxWaiting)) ?? [];
    return waiting.map((text) => lineRequestSchema.parse(JSON.parse(text)));
  };

  return {
    ask: async (serverId, message, timeoutMs) => {
      const id = newId();
      const list = requestsOf(serverId);
      const text = JSON.stringify({ ...message, id });
      const answered = await wakes.wait(answersOf(serverId, id), timeoutMs);
      try {
        const [pushed] =
          (await commands.multi().rpush(list, text).pexpire(list, timeoutMs).publish(list, '').exec()) ?? [];
        const full = Number(pushed?.[1]) > maxWaiting;
        const answer = full ? null : await answered.message;
        if (answer !== null) return lineAnswerSchema.parse(JSON.parse(answer));
        // It must not be heard after the asker has given up.
        await commands.lrem(list, 0, text);
        if (full) throw silent(serverId, 'too much waits for it already');
        throw silent(serverId, `it did not fetch and answer within ${timeoutMs} ms`);
      } finally {
        answered.stop();
      }
    },
    next: async (serverId, waitMs, gone) => {
      const woken = await wakes.wait(requestsOf(serverId), waitMs, gone);
      try {
        const there = await take(serverId);
        if (there.length > 0 || (await woken.message) === null) return there;
        return await take(serverId);
      } finally {
        woken.stop();
      }
    },
    answer: async (serverId, answer: LineAnswer) => {
      await commands.publish(answersOf(serverId, answer.id), JSON.stringify(answer));
    },
    close: () => {
      commands.disconnect();
      wakes.close();
    },
  };
}

function connect(url: URL, settings: typeof callerOptions | typeof workerOptions, log: Log): Redis {
  const connection = new Redis({ ...redisAddress(url), ...settings });
  connection.on('error', (error: Error) =>
    log.debug({ err: error }, 'the lines to servers that fetch are interrupted'),
  );
  return connection;
}

interface Wake {
  /** The first message; null when none came in time. */
  readonly message: Promise<string | null>;
  stop(): void;
}

/** Waits for messages on channels, each with an end. The subscription stands before the caller goes on. */
function createWakes(subscriber: Redis) {
  const listeners = new EventEmitter();
  listeners.setMaxListeners(0);
  subscriber.on('message', (channel: string, text: string) => void listeners.emit(channel, text));
  // What was said while the connection was away is lost: who waits for a request looks again, an asker runs into its end.
  subscriber.on('ready', () => {
    for (const channel of listeners.eventNames())
      if (String(channel).startsWith(`${prefix}requests:`)) listeners.emit(channel, '');
  });
  return {
    wait: async (channel: string, waitMs: number, gone?: AbortSignal): Promise<Wake> => {
      const { promise, resolve } = Promise.withResolvers<string | null>();
      const none = (): void => resolve(null);
      listeners.on(channel, resolve);
      const timer = setTimeout(none, waitMs);
      gone?.addEventListener('abort', none);
      const stop = (): void => {
        clearTimeout(timer);
        listeners.off(channel, resolve);
        gone?.removeEventListener('abort', none);
        // ioredis forgets a subscription also while Redis is away.
        if (listeners.listenerCount(channel) === 0) subscriber.unsubscribe(channel).catch(none);
        none();
      };
      try {
        await within(subscriber.subscribe(channel), waitMs);
      } catch (error) {
        stop();
        throw error;
      }
      return { message: promise, stop };
    },
    close: () => subscriber.disconnect(),
  };
}

/** A connection that waits for Redis to come back must not hold its caller for longer than the caller waits. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new CodedError('service_unreachable', 'Redis did not answer in time.')),
    Math.max(ms, 1_000),
  );
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const silent = (serverId: string, why: string): CodedError =>
  new CodedError('service_unreachable', `Agent server ${serverId} cannot be reached: ${why}.`, {
    server: serverId,
  });
