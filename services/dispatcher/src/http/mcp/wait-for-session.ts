import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { maxWaitSeconds } from '@lemniscate/shared/api/session.ts';
import { getSession } from '../../application/sessions/read-sessions.ts';
import { waitForEnd } from '../../application/sessions/wait-for-end.ts';
import type { WaitDeps } from '../../application/sessions/wait-for-end.ts';

/** How often a client that waits hears that the session lives. Clients give a silent call up after a minute. */
const progressMs = 5_000;

export interface SessionProgress {
  /** Seconds since the call arrived; grows with every notice, over reconnects too. */
  readonly progress: number;
  readonly message: string;
}

/**
 * Blocks until the session has ended, at most `maxWaitSeconds` after the call arrived, and tells how it goes on.
 * @param askedAt when the call arrived, milliseconds since 1970: another dispatcher may have taken it
 * @returns the session as it then is; null when the caller has gone, who may come back
 */
export async function waitForSession(
  deps: WaitDeps,
  sessionId: string,
  askedAt: number,
  gone: AbortSignal,
  tell: (progress: SessionProgress) => Promise<void>,
): Promise<SessionView | null> {
  const waited = (): number => deps.clock.now().getTime() - askedAt;
  for (;;) {
    const left = maxWaitSeconds * 1_000 - waited();
    const ended = await waitForEnd(deps, sessionId, Math.max(0, Math.min(progressMs, left)), gone);
    if (gone.aborted) return null;
    const session = await getSession(deps.database, sessionId);
    if (ended || left <= progressMs) return session;
    const message = `session ${sessionId} is ${session.state} (${session.phase})`;
    await tell({ progress: Math.round(waited() / 100) / 10, message });
  }
}
