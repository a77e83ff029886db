import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { ProviderLimits } from '../../application/ports/model-provider.ts';
import type { ProviderRoom, SharedRooms } from '../../application/ports/provider-room.ts';

/** A gateway that died holds its places for so long, in milliseconds. */
const holdMs = 60_000;
const keepsPerHold = 3;
/** Who waits asks far more often; one who does not any more loses its turn. Milliseconds. */
const passMs = 1_000;

/**
 * The limits of providers, kept in Redis for all gateways. Emptied, it forgets who is inside until they say so again:
 * for at most twenty seconds more is let through than a provider allows, and it answers 429 by itself.
 * @param prefix of every key
 * @param holdForMs how long a place is held without a word
 */
export function createSharedRooms(
  redis: Redis,
  prefix: string,
  holdForMs = holdMs,
): { readonly rooms: SharedRooms; close(): void } {
  const script = (name: string): string => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
  redis.defineCommand('lemniscate_take_room', { numberOfKeys: 4, lua: script('take-room') });
  redis.defineCommand('lemniscate_give_room', { numberOfKeys: 4, lua: script('give-room') });
  redis.defineCommand('lemniscate_keep_room', { numberOfKeys: 1, lua: script('keep-room') });
  const inside = new Map<string, Set<string>>();
  const keyOf = (provider: string, what: string): string => `${prefix}:{${provider}}:${what}`;
  const holdersKey = (provider: string): string => keyOf(provider, 'holders');

  const keep = (): void => {
    for (const [provider, holders] of inside)
      if (holders.size > 0)
        // A keeper that fails is followed by the next one; a hold outlasts two of them.
        call(redis, 'lemniscate_keep_room', holdersKey(provider), holdForMs, ...holders).catch(
          () => undefined,
        );
  };
  const timer = setInterval(keep, holdForMs / keepsPerHold).unref();

  const roomOf = (provider: string, limits: ProviderLimits): ProviderRoom => {
    const holders = inside.get(provider) ?? new Set<string>();
    inside.set(provider, holders);
    const keys = ['holders', 'tokens', 'waiting', 'asked'].map((what) => keyOf(provider, what));
    return {
      take: async (holder, tokens) => {
        const answer = await call(
          redis,
          'lemniscate_take_room',
          ...keys,
          holder,
          limits.concurrency ?? '',
          limits.tokensPerMinute ?? '',
          tokens,
          holdForMs,
          passMs,
        );
        if (answer !== 1) return false;
        holders.add(holder);
        return true;
      },
      give: (holder, over) => {
        holders.delete(holder);
        // Where Redis is away the place is forgotten after its time, and the bucket fills by itself.
        call(redis, 'lemniscate_give_room', ...keys, holder, limits.tokensPerMinute ?? '', over).catch(
          () => undefined,
        );
      },
    };
  };
  return { rooms: roomOf, close: () => clearInterval(timer) };
}

// ioredis adds defined commands as methods that its types cannot know.
async function call(redis: Redis, name: string, ...args: (string | number)[]): Promise<unknown> {
  const method: unknown = Reflect.get(redis, name);
  if (typeof method !== 'function') throw new Error(`the script ${name} is not defined`);
  return (method as (...args: (string | number)[]) => Promise<unknown>).apply(redis, args);
}
