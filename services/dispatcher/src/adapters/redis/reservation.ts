import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Reservation, Reservations } from '../../application/ports/reservations.ts';

/** An unsettled reservation falls back after this long: longer than an order may take, so that it outlives none. */
const reservationMs = 30_000;

const scripts = ['reserve', 'release', 'correct', 'withdraw', 'free-slots'] as const;
type ScriptName = (typeof scripts)[number];

const reservedSchema = z.union([
  z.tuple([z.literal('reserved'), z.string()]).transform(([kind, serverId]) => ({ kind, serverId })),
  z.tuple([z.enum(['full', 'empty'])]).transform(([kind]) => ({ kind })),
]);

/**
 * The ledger of slots in Redis: each step is one script and thereby atomic among all dispatchers.
 * @param prefix of every key, with a hash tag in braces
 * @param random uniform in [0, 1)
 */
export function createReservations(redis: Redis, prefix: string, random: () => number): Reservations {
  const ledger = readScript('ledger');
  for (const name of scripts)
    redis.defineCommand(commandName(name), { numberOfKeys: 1, lua: `${ledger}\n${readScript(name)}` });
  const call = (name: ScriptName, ...args: (string | number)[]): Promise<unknown> =>
    commandOf(redis, commandName(name))(prefix, ...args);

  return {
    reserve: async (request): Promise<Reservation> =>
      reservedSchema.parse(
        await call(
          'reserve',
          request.operation,
          request.pool,
          request.pinned ?? '',
          reservationMs,
          random(),
          ...request.exclude,
        ),
      ),
    release: async (operation) => {
      await call('release', operation);
    },
    correct: async (truth) => {
      await call('correct', truth.serverId, truth.pool, truth.capacity, ...new Set(truth.sessions));
    },
    withdraw: async (serverId) => {
      await call('withdraw', serverId);
    },
    freeSlots: async (pool) => z.number().parse(await call('free-slots', pool)),
  };
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
