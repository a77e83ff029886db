import type { Clock } from '@lemniscate/shared/clock.ts';
import type { LiveEvents } from '../ports/live-events.ts';

export interface HoldUntilDeps {
  readonly live: Pick<LiveEvents, 'subscribe'>;
  readonly clock: Clock;
}

/** What happened in another dispatcher is seen at the latest after this, whatever happens to signals. */
const recheckMs = 1_000;

/**
 * Looks again whenever something was announced about the session, and each second, until the look finds something.
 * @returns what was found; null when the time is over or the caller has gone
 */
export async function holdUntil<Found>(
  deps: HoldUntilDeps,
  sessionId: string,
  wait: { readonly ms: number; readonly gone: AbortSignal },
  look: () => Promise<Found | null>,
): Promise<Found | null> {
  let wake = Promise.withResolvers<void>();
  const wakeUp = (): void => wake.resolve();
  // Listens before it looks: what happens between look and wait would be missed.
  const stopListening = deps.live.subscribe(sessionId, wakeUp);
  wait.gone.addEventListener('abort', wakeUp);
  try {
    const deadline = deps.clock.monotonicMs() + wait.ms;
    for (;;) {
      wake = Promise.withResolvers();
      const found = await look();
      if (found !== null) return found;
      const left = deadline - deps.clock.monotonicMs();
      if (left <= 0 || wait.gone.aborted) return null;
      const timer = setTimeout(wakeUp, Math.min(left, recheckMs));
      await wake.promise.finally(() => clearTimeout(timer));
    }
  } finally {
    stopListening();
    wait.gone.removeEventListener('abort', wakeUp);
  }
}
