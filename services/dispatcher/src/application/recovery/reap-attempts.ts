import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../ports/transaction.ts';
import { endSession } from '../sessions/end-session.ts';
import { loseAttempt } from './lose-attempt.ts';
import type { Loss, LoseAttemptDeps } from './lose-attempt.ts';
import type { MassExpiryGuard } from './mass-expiry.ts';

export interface ReapDeps extends LoseAttemptDeps {
  readonly guard: MassExpiryGuard;
  readonly graceMs: number;
  readonly queueMaxWaitSeconds: number;
}

/** At most this many of each kind in one tick; the rest follows with the next. */
const perTick = 500;

/** Expired leases, passed start deadlines and passed queue deadlines: whatever would otherwise wait for ever. */
export async function reapAttempts(deps: ReapDeps): Promise<void> {
  await reapLeases(deps);
  await reapStarts(deps);
  await reapQueue(deps);
}

interface DueRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly attempt: number;
  readonly server_id: string;
}

async function reapLeases(deps: ReapDeps): Promise<void> {
  const due = await deps.database.query<DueRow>(
    `SELECT session_id, attempt, server_id FROM attempts
     WHERE state = 'live' AND lease_expires_at < now() - $1 * interval '1 millisecond'
     ORDER BY lease_expires_at LIMIT ${perTick}`,
    [deps.graceMs],
  );
  const silent = new Set(due.map((row) => row.server_id));
  const fleet = silent.size === 0 ? 0 : await liveServers(deps.database);
  if (!deps.guard.allows(silent.size, fleet)) {
    deps.log.error(
      { silent: [...silent].slice(0, 20), fleet },
      'so much of the fleet fell silent at once that the fault may be ours: leases are held for now',
    );
    return;
  }
  await loseAll(deps, due, 'lease_expired');
}

async function liveServers(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(DISTINCT server_id) AS count FROM attempts WHERE state = 'live'`,
  );
  return row?.count ?? 0;
}

async function reapStarts(deps: ReapDeps): Promise<void> {
  const due = await deps.database.query<DueRow>(
    `SELECT attempts.session_id, attempts.attempt, attempts.server_id FROM attempts
     JOIN sessions ON sessions.id = attempts.session_id AND sessions.attempt = attempts.attempt
     WHERE attempts.state = 'live' AND sessions.state = 'starting' AND attempts.start_deadline < now()
     LIMIT ${perTick}`,
  );
  await loseAll(deps, due, 'start_deadline');
}

async function loseAll(deps: ReapDeps, due: readonly DueRow[], why: Loss['why']): Promise<void> {
  for (const row of due)
    await loseAttempt(deps, {
      sessionId: row.session_id,
      attempt: row.attempt,
      serverId: row.server_id,
      why,
    });
}

async function reapQueue(deps: ReapDeps): Promise<void> {
  const due = await deps.database.query<{ id: string }>(
    `SELECT id FROM sessions WHERE state = 'pending' AND queued_at < now() - $1 * interval '1 second' LIMIT ${perTick}`,
    [deps.queueMaxWaitSeconds],
  );
  for (const { id } of due) {
    const ended = await deps.database
      .transaction(async (tx) => {
        // Looked at again under the lock: it may have been placed, or placed and lost, since.
        const [still] = await tx.query(
          `SELECT 1 FROM sessions WHERE id = $1 AND state = 'pending'
           AND queued_at < now() - $2 * interval '1 second' FOR UPDATE`,
          [id, deps.queueMaxWaitSeconds],
        );
        if (still === undefined) return false;
        await endSession(deps, tx, {
          sessionId: id,
          reason: 'queue_deadline',
          message: `No slot became free within ${deps.queueMaxWaitSeconds} seconds (LEMNISCATE_QUEUE_MAX_WAIT_SECONDS). Add agent servers or try later.`,
        });
        return true;
      })
      .catch((error: unknown) => {
        if (isCodedError(error, 'session_ended')) return false;
        throw error;
      });
    if (!ended) continue;
    deps.events.announce(id);
    deps.signals.send('ended', id);
  }
}
