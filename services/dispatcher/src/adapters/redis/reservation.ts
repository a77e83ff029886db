import { readFileSync } from 'node:fs';
import { ReplyError } from 'ioredis';
import type { Redis } from 'ioredis';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import { reservationMs } from '../../application/ports/reservations.ts';
import type { Reservation, Reservations, ServerTruth } from '../../application/ports/reservations.ts';

const scripts = [
  'reserve',
  'release',
  'correct',
  'withdraw',
  'fill',
  'running',
  'free-slots',
  'packing',
  'renew',
  'is-whole',
  'set-whole',
] as const;
type ScriptName = (typeof scripts)[number];

const answersSchema = z.array(
  z.string().transform((answer): Reservation => {
    if (answer === '!full') return { kind: 'full' };
    if (answer === '!empty') return { kind: 'empty' };
    return { kind: 'reserved', serverId: answer };
  }),
);

const renewalsSchema = z.array(z.literal([0, 1]).transform((answer) => answer === 1));

/** Scripts of a rebuild that share a round trip. */
const correctedAtOnce = 100;

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

  const correct = async (truth: ServerTruth, how: 'word' | 'rebuild'): Promise<boolean> => {
    const sessions = new Set(truth.sessions);
    const answer = await call(
      'correct',
      truth.serverId,
      truth.pool,
      truth.capacity,
      words(truth.tokens),
      truth.warm,
      words(truth.mirrors),
      truth.starting,
      truth.startingLimit,
      truth.report,
      sessions.size,
      how === 'rebuild' ? '1' : '',
      ...sessions,
      ...truth.gone.filter((sessionId) => !sessions.has(sessionId)),
    );
    return answer === 1;
  };

  return {
    reserve: async ({ wishes, exclude }) =>
      answersSchema.parse(
        await call(
          'reserve',
          reservationMs,
          wishes.length,
          ...wishes.flatMap(({ placementClass, operation, mirror, pinned }) => [
            placementClass,
            operation,
            random(),
            mirror ?? '',
            pinned ?? '',
          ]),
          ...exclude,
        ),
      ),
    release: async (operation) => {
      await call('release', operation);
    },
    renew: async (holds) =>
      renewalsSchema.parse(
        await call(
          'renew',
          reservationMs,
          ...holds.flatMap(({ operation, serverId }) => [operation, serverId]),
        ).catch(unreachable),
      ),
    correct: (truth) => correct(truth, 'word'),
    isWhole: async () => (await call('is-whole')) === 1,
    rebuild: async (truths) => {
      for (let from = 0; from < truths.length; from += correctedAtOnce)
        await Promise.all(
          truths.slice(from, from + correctedAtOnce).map((truth) => correct(truth, 'rebuild')),
        );
      await call('set-whole');
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

/** What Redis itself says against a script stays as it is. */
function unreachable(error: unknown): never {
  if (error instanceof ReplyError) throw error;
  throw new CodedError(
    'service_unreachable',
    'Redis does not answer, so no slot can be renewed and its session waits. Check REDIS_URL and that the server runs.',
    { service: 'redis' },
    error,
  );
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
