import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { PauseReason } from '@lemniscate/shared/session/end.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import type { SeenSession } from '../sessions/change-state.ts';
import { openPause } from './pause-spans.ts';

export interface PutAwayDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  readonly self: string;
}

/** A session under its lock that is to be paused. */
export interface Pause {
  readonly reason: PauseReason;
  /** Who wants it; the service itself where the session waits for somebody. */
  readonly subject: string;
  /** What it will go on from; null for one that has not begun. */
  readonly checkpoint: number | null;
}

/** Makes a session paused: its attempt is over, its slot free, and nothing is queued. */
export async function putAway(
  deps: PutAwayDeps,
  tx: Transaction,
  session: SeenSession,
  { reason, subject, checkpoint }: Pause,
): Promise<void> {
  const at = session.attempt > 0 ? { attempt: session.attempt } : {};
  const server = session.server_id === null ? {} : { server: session.server_id };
  await tx.query(
    `UPDATE attempts SET state = 'ended', ended_at = now() WHERE session_id = $1 AND state = 'live'`,
    [session.id],
  );
  await changeSessionState(deps.events, tx, session, {
    to: 'paused',
    phase: 'stored',
    reason,
    set: { server_id: null, pause_requested: null, pause_requested_by: null },
  });
  await Promise.all([
    openPause(tx, session.id, reason),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'session.paused',
        subject,
        ...at,
        ...server,
        body: { reason, stored: true, ...(checkpoint === null ? {} : { checkpoint }) },
      },
    ]),
  ]);
}
