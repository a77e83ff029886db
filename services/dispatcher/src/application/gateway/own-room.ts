import type { Clock } from '@lemniscate/shared/clock.ts';
import type { ProviderLimits } from '../ports/model-provider.ts';

/** What this process alone has let through to a provider. */
export interface OwnRoom {
  take(tokens: number): boolean;
  /** @param over tokens that were used beyond those taken; below nothing where fewer were */
  give(over: number): void;
  /** The place was not used and its tokens were not spent. */
  giveBack(tokens: number): void;
}

/** Bounds one process by a provider's limits, whatever it knows of others. */
export function createOwnRoom(limits: ProviderLimits, clock: Clock): OwnRoom {
  const { concurrency = Number.POSITIVE_INFINITY, tokensPerMinute } = limits;
  const bucket = createBucket(tokensPerMinute, clock);
  let inside = 0;
  return {
    take: (tokens) => {
      if (inside >= concurrency || !bucket.take(tokens)) return false;
      inside += 1;
      return true;
    },
    give: (over) => {
      inside -= 1;
      bucket.correct(over);
    },
    giveBack: (tokens) => {
      inside -= 1;
      bucket.giveBack(tokens);
    },
  };
}

interface Bucket {
  take(tokens: number): boolean;
  correct(over: number): void;
  giveBack(tokens: number): void;
}

/**
 * A bucket that holds a minute's tokens and fills steadily. A request larger than the bucket takes it whole. What an
 * exchange used beyond what it took is a debt; one of more than a minute would keep everybody out for the sake of one.
 */
function createBucket(perMinute: number | undefined, clock: Clock): Bucket {
  if (perMinute === undefined)
    return { take: () => true, correct: () => undefined, giveBack: () => undefined };
  let level = perMinute;
  let at = clock.monotonicMs();
  return {
    take: (tokens) => {
      const now = clock.monotonicMs();
      level = Math.min(perMinute, level + ((now - at) / 60_000) * perMinute);
      at = now;
      const needed = Math.min(tokens, perMinute);
      if (level < needed) return false;
      level -= needed;
      return true;
    },
    correct: (over) => {
      level = Math.max(-perMinute, Math.min(perMinute, level - over));
    },
    giveBack: (tokens) => {
      level = Math.min(perMinute, level + Math.min(tokens, perMinute));
    },
  };
}
