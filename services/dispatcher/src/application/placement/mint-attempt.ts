import { createHash } from 'node:crypto';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { carryCalls } from '../checkpoints/carry-calls.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { PlacementJob } from '../ports/placement-queue.ts';
import type { Database } from '../ports/transaction.ts';
import { changeSessionState } from '../sessions/change-state.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { OrderTimes } from './session-order.ts';

export interface MintDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
  readonly times: OrderTimes;
  /** An unguessable text for the model relay. */
  readonly newRelayToken: () => string;
}

/** An attempt that exists in the record and has not been ordered yet. */
export interface MintedAttempt {
  readonly session: SessionRow;
  readonly attempt: number;
  readonly relayToken: string;
}

/** How a relay token is kept: whoever reads the record cannot use it. */
export function relayTokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * Mints an attempt for a pending session in one transaction: the fencing number, the lease, the start watchdog and the
 * audit entry exist before the server hears of it. Guarded by state and generation, so of two jobs one at most wins.
 * @returns null when the session is not pending in this generation any more
 */
export async function mintAttempt(
  deps: MintDeps,
  job: PlacementJob,
  serverId: string,
): Promise<MintedAttempt | null> {
  const relayToken = deps.newRelayToken();
  const minted = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, job.sessionId);
    if (session.state !== 'pending' || session.generation !== job.generation) return null;
    const attempt = session.attempt + 1;
    await Promise.all([
      changeSessionState(deps.events, tx, session, {
        to: 'starting',
        phase: 'placing',
        set: { attempt, server_id: serverId, waits_for_environment: null },
        stamp: 'started_at',
      }),
      tx.query(
        `INSERT INTO attempts (session_id, attempt, server_id, boot_id, state, relay_token_hash, lease_expires_at,
           start_deadline)
         VALUES ($1, $2, $3, (SELECT boot_id FROM agent_servers WHERE id = $3), 'live', $4,
           now() + $5 * interval '1 millisecond', now() + $6 * interval '1 millisecond')`,
        [
          session.id,
          attempt,
          serverId,
          relayTokenHash(relayToken),
          deps.times.leaseMs,
          deps.times.startTimeoutMs,
        ],
      ),
      session.attempt === 0 ? undefined : carryCalls(tx, session.id, attempt),
      deps.audit.append(tx, sessionChain(session.id), [
        { type: 'attempt.started', subject: deps.self, attempt, server: serverId, body: {} },
      ]),
    ]);
    return { session, attempt, relayToken };
  });
  if (minted !== null) deps.events.announce(job.sessionId);
  return minted;
}
