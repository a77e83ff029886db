import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import { lockSession } from '../sessions/session-row.ts';

export interface TakeBackDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
}

/** An attempt that its server did not take. `refused`: it said so; `failed`: it may have taken it all the same. */
export interface UntakenAttempt {
  readonly sessionId: string;
  readonly attempt: number;
  readonly serverId: string;
  readonly kind: 'refused' | 'failed';
  /** A code: what a server says of its fault is no text for the audit log. */
  readonly why: 'server_full' | 'order_failed' | 'server_unreachable';
}

/**
 * `pending`: the session waits again. `taken`: its server has reported it running, whatever became of the answer to the order.
 * `moved`: somebody ended or moved it meanwhile.
 */
export type TakenBack = 'pending' | 'taken' | 'moved';

/**
 * Undoes a mint: the attempt is dead for every later write, and the session is pending again in the same generation,
 * for the same job goes on with it. An attempt that runs stays as it is: closed under a running session it would be nobody's
 * to lose, and the session would run for ever.
 */
export async function takeBackAttempt(deps: TakeBackDeps, untaken: UntakenAttempt): Promise<TakenBack> {
  const { sessionId, attempt, serverId } = untaken;
  const outcome = await deps.database.transaction(async (tx): Promise<TakenBack> => {
    const session = await lockSession(tx, sessionId);
    if (session.attempt === attempt && session.state === 'running') return 'taken';
    const [closed] = await tx.query(
      `UPDATE attempts SET state = $3, ended_at = now()
       WHERE session_id = $1 AND attempt = $2 AND state = 'live' RETURNING attempt`,
      [sessionId, attempt, untaken.kind === 'refused' ? 'refused' : 'lost'],
    );
    if (closed === undefined || session.attempt !== attempt || session.state !== 'starting') return 'moved';
    await Promise.all([
      changeSessionState(deps.events, tx, session, {
        to: 'pending',
        phase: 'queued',
        set: { server_id: null },
      }),
      deps.audit.append(tx, sessionChain(sessionId), [
        { type: 'attempt.lost', subject: deps.self, attempt, server: serverId, body: { why: untaken.why } },
      ]),
    ]);
    return 'pending';
  });
  if (outcome === 'pending') deps.events.announce(sessionId);
  return outcome;
}
