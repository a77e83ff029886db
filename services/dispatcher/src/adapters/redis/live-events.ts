import { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { z } from 'zod';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import type { LiveEvents, LiveSignal } from '../../application/ports/live-events.ts';
import type { Log } from '../../application/ports/log.ts';
import { redisAddress } from './address.ts';
import { writeOnceATurn } from './one-write.ts';

/** Longest message; larger news is sent as a bare wake-up and read from the record. Bytes. */
const maxMessageBytes = 64 * 1024;

const messageSchema = z.object({ origin: z.string(), events: z.array(positionedEventSchema).optional() });

export interface RedisLiveEvents extends LiveEvents {
  close(): void;
}

/**
 * Live signals over Redis' publish and subscribe, on two connections of their own: a subscriber cannot do anything
 * else, and a publisher that waits must not hold up a queue. Readers in this process are told directly, so a fleet of
 * one dispatcher follows live while Redis is down. Nothing is stored in Redis, so nothing there can be lost or grow.
 */
export function createRedisLiveEvents(options: { readonly url: URL; readonly log: Log }): RedisLiveEvents {
  const origin = randomUUID();
  const listeners = new EventEmitter();
  listeners.setMaxListeners(0);
  const publisher = connect(options, {
    // What cannot be sent now is not worth sending later: readers look for themselves within a second.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
  });
  const subscriber = connect(options, { maxRetriesPerRequest: null });

  subscriber.on('message', (channel: string, text: string) => {
    const message = parse(text);
    if (message?.origin !== origin) listeners.emit(channel, toSignal(channel, message));
  });
  // What was said while the connection was away is lost: everybody has to look.
  subscriber.on('ready', () => {
    for (const channel of listeners.eventNames())
      listeners.emit(channel, toSignal(String(channel), undefined));
  });

  // Subscribing again is harmless, and ioredis repeats all subscriptions after a reconnect.
  const ignoreWhileAway = (): void => undefined;
  return {
    publish: (signal) => {
      const channel = channelPrefix + signal.sessionId;
      listeners.emit(channel, signal);
      if (publisher.status === 'ready')
        publisher.publish(channel, serialise(origin, signal)).catch(ignoreWhileAway);
    },
    subscribe: (sessionId, listener) => {
      const channel = channelPrefix + sessionId;
      const isFirst = listeners.listenerCount(channel) === 0;
      listeners.on(channel, listener);
      if (isFirst) subscriber.subscribe(channel).catch(ignoreWhileAway);
      let stopped = false;
      return () => {
        if (stopped) return;
        stopped = true;
        listeners.off(channel, listener);
        if (listeners.listenerCount(channel) === 0) subscriber.unsubscribe(channel).catch(ignoreWhileAway);
      };
    },
    close: () => {
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}

const channelPrefix = 'lemniscate:live:';

function connect(
  { url, log }: { readonly url: URL; readonly log: Log },
  settings: Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout'>,
): Redis {
  const merged = {
    connectTimeout: 2_000,
    retryStrategy: (times: number) => Math.min(50 * 2 ** times, 1_000),
    ...settings,
  };
  const connection = new Redis({ ...redisAddress(url), ...merged });
  writeOnceATurn(connection);
  let isAway = false;
  connection.on('error', (error: Error) => {
    if (!isAway) log.warn({ err: error }, 'Redis is away; live readers look into the record instead');
    isAway = true;
  });
  connection.on('ready', () => {
    isAway = false;
  });
  return connection;
}

function serialise(origin: string, signal: LiveSignal): string {
  const whole = JSON.stringify({ origin, events: signal.events });
  return Buffer.byteLength(whole) <= maxMessageBytes ? whole : JSON.stringify({ origin });
}

function parse(text: string): z.infer<typeof messageSchema> | undefined {
  try {
    return messageSchema.parse(JSON.parse(text));
  } catch {
    // Not a message of ours: as good as a wake-up.
    return undefined;
  }
}

function toSignal(channel: string, message: z.infer<typeof messageSchema> | undefined): LiveSignal {
  const sessionId = channel.slice(channelPrefix.length);
  return message?.events === undefined ? { sessionId } : { sessionId, events: message.events };
}
