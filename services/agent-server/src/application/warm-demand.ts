import type { Clock } from '@lemniscate/shared/clock.ts';

/** How many warm sandboxes of one profile are worth keeping. */
export interface WarmDemand {
  /** A session has asked for one. */
  arrived(): void;
  /** One is there again, so long after its want was known. */
  refilled(tookMs: number): void;
  /** What the next arrivals need while a refill is under way: rate × slowest usual refill, within floor and ceiling. */
  target(): number;
}

/** A burst is seen in the short window, and a pool that served it shrinks when the long one has passed. */
const windowsMs = [5_000, 60_000] as const;
const rememberedArrivals = 2_000;
const rememberedRefills = 200;
/** Until refills have been seen: a cold start and its pause, under load. */
const firstGuessMs = 300;

export function createWarmDemand(
  clock: Clock,
  bounds: { readonly floor: number; readonly ceiling: number },
): WarmDemand {
  const arrivals: number[] = [];
  const refills: number[] = [];

  const ratePerMs = (): number => {
    const now = clock.monotonicMs();
    const rates = windowsMs.map((window) => arrivals.filter((at) => now - at <= window).length / window);
    return Math.max(...rates);
  };
  const usualRefillMs = (): number => {
    if (refills.length === 0) return firstGuessMs;
    const sorted = refills.toSorted((one, other) => one - other);
    return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? firstGuessMs;
  };

  return {
    arrived() {
      arrivals.push(clock.monotonicMs());
      if (arrivals.length > rememberedArrivals) arrivals.shift();
    },
    refilled(tookMs) {
      refills.push(tookMs);
      if (refills.length > rememberedRefills) refills.shift();
    },
    target() {
      const wanted = Math.ceil(ratePerMs() * usualRefillMs());
      return Math.min(Math.max(wanted, bounds.floor), Math.max(bounds.ceiling, bounds.floor));
    },
  };
}
