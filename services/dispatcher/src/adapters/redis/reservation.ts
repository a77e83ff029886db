import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { reservationMs } from '../../application/ports/reservations.ts';
import type { Reservation, Reservations } from '../../application/ports/reservations.ts';

const scripts = [
  'reserve',
  'release',
  'correct',
  'withdraw',
  'fill',
  'running',
  'free-slots',
  'packing',
] as const;
type ScriptName = (typeof scripts)[number];

const answersSchema = z.array(
  z.string().transform((answer): Reservation => {
    if (answer === '!full') return { kind: 'full' };
    if (answer === '!empty') return { kind: 'empty' };
    return { kind: 'reserved', serverId: answer };
  }),
);

/**
 * The ledger of slots in Redis: each step is one script and thereby atomic among all dispatchers.
 * @param prefix of every key, with a hash tag in braces
 * @param random uniform in [0, 1): Redis would seed its own anew in each script
 */
export function createReservations(redis: Redis, prefix: string, random: () => number): Reservations {
  const ledger = readScript('ledger');
  for (const name of scripts)
    redis.defineCommand(commandName(name), { numberOfKeys: 1, lua: `${ledger}\n${readScript(name)}` });
  const call = (name: ScriptName, ...args: (string | number)[]): Promise<unknown> =>
    commandOf(redis, commandName(name))(prefix, ...args);

  return {
    reserve: async ({ placementClass, wishes, exclude }) =>
      answersSchema.parse(
        await call(
          'reserve',
          placementClass,
          reservationMs,
          wishes.length,
          ...wishes.flatMap((wish) => [wish.operation, random(), wish.mirror ?? '', wish.pinned ?? '']),
          ...exclude,
        ),
      ),
    release: async (operation) => {
      await call('release', operation);
    },
    correct: async (truth) => {
      const sessions = new Set(truth.sessions);
      await call(
        'correct',
        truth.serverId,
        truth.pool,
        truth.capacity,
        words(truth.tokens),
        truth.warm,
        words(truth.mirrors),
        truth.starting,
        truth.startingLimit,
        sessions.size,
        ...sessions,
        ...truth.gone.filter((sessionId) => !sessions.has(sessionId)),
      );
    },
    withdraw: async (serverId) => {
      await call('withdraw', serverId);
    },
    fill: async (serverId) => {
      await call('fill', serverId);
    },
    running: async (serverId, sessionId) => {
      await call('running', serverId, sessionId);
    },
    freeSlots: async (placementClass) => z.number().parse(await call('free-slots', placementClass)),
    pack: async (pools) => {
      await call('packing', ...pools);
    },
  };
}

/** As the scripts look for words: between bars. */
function words(list: readonly string[]): string {
  return `|${list.join('|')}|`;
}

function readScript(name: string): string {
  return readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
}

function commandName(name: ScriptName): string {
  return `lemniscate_${name.replaceAll('-', '_')}`;
}

// ioredis adds defined commands as methods that its types cannot know.
function commandOf(redis: Redis, name: string): (...args: (string | number)[]) => Promise<unknown> {
  const method: unknown = Reflect.get(redis, name);
  if (typeof method !== 'function') throw new Error(`the script ${name} is not defined`);
  return method.bind(redis) as (...args: (string | number)[]) => Promise<unknown>;
}
