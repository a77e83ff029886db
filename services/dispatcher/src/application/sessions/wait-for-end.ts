import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { unknownSession } from './session-row.ts';

export interface WaitDeps {
  readonly database: Transaction;
  readonly signals: Signals;
}

/** Another dispatcher may have ended the session: its signals do not reach us. */
const recheckMs = 1_000;

/**
 * Waits until the session has ended, for at most `waitMs`. The signal makes it quick; the record decides.
 * @param gone aborts when the caller hangs up
 * @returns whether it has ended
 */
export async function waitForEnd(
  deps: WaitDeps,
  sessionId: string,
  waitMs: number,
  gone: AbortSignal,
): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  let wake = Promise.withResolvers<void>();
  const stopListening = deps.signals.on('ended', (ended) => {
    if (ended === sessionId) wake.resolve();
  });
  const onGone = (): void => wake.resolve();
  gone.addEventListener('abort', onGone);
  try {
    for (;;) {
      const [row] = await deps.database.query<{ state: SessionState }>(
        'SELECT state FROM sessions WHERE id = $1',
        [sessionId],
      );
      if (row === undefined) throw unknownSession(sessionId);
      if (sessionHasEnded(row.state)) return true;
      const left = deadline - performance.now();
      if (left <= 0 || gone.aborted) return false;
      const timer = setTimeout(() => wake.resolve(), Math.min(left, recheckMs));
      await wake.promise.finally(() => clearTimeout(timer));
      wake = Promise.withResolvers();
    }
  } finally {
    stopListening();
    gone.removeEventListener('abort', onGone);
  }
}
