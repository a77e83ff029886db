import type { Clock } from '@lemniscate/shared/clock.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { LiveEvents } from '../ports/live-events.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from './session-row.ts';

export interface WaitDeps {
  readonly database: Transaction;
  readonly live: Pick<LiveEvents, 'subscribe'>;
  readonly clock: Clock;
}

/** Live signals may be lost; the record is looked at this often whatever they say. */
const recheckMs = 1_000;

/**
 * Waits until the session has ended, for at most `waitMs`. Live signals make it quick; the record decides.
 * @param gone aborts when the caller hangs up
 * @returns whether it has ended
 */
export async function waitForEnd(
  deps: WaitDeps,
  sessionId: string,
  waitMs: number,
  gone: AbortSignal,
): Promise<boolean> {
  const deadline = deps.clock.monotonicMs() + waitMs;
  let wake = Promise.withResolvers<void>();
  const wakeUp = (): void => wake.resolve();
  const unsubscribe = deps.live.subscribe(sessionId, wakeUp);
  gone.addEventListener('abort', wakeUp);
  try {
    for (;;) {
      // Renewed before the look: what happens after it wakes the next wait.
      wake = Promise.withResolvers();
      const [row] = await deps.database.query<{ state: SessionState }>(
        'SELECT state FROM sessions WHERE id = $1',
        [sessionId],
      );
      if (row === undefined) throw unknownSession(sessionId);
      if (sessionHasEnded(row.state)) return true;
      const left = deadline - deps.clock.monotonicMs();
      if (left <= 0 || gone.aborted) return false;
      const timer = setTimeout(wakeUp, Math.min(left, recheckMs));
      await wake.promise.finally(() => clearTimeout(timer));
    }
  } finally {
    unsubscribe();
    gone.removeEventListener('abort', wakeUp);
  }
}
