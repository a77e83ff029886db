import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { lookInOrder } from '../ordered-look.ts';
import type { Transaction } from '../ports/transaction.ts';
import { endSession } from '../sessions/end-session.ts';
import { fleetAgo, fleetNow } from './fleet-clock.ts';
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
     WHERE state = 'live' AND lease_expires_at < ${fleetNow} - $1 * interval '1 millisecond'
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
     WHERE attempts.state = 'live' AND sessions.state = 'starting' AND attempts.start_deadline < ${fleetNow}
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

interface OverdueRow extends Record<string, unknown> {
  readonly max_wait: number;
  readonly own: boolean;
}

const maxWait = `coalesce(projects.max_wait_seconds, $1) * interval '1 second'`;
// The first goes by the index; the second, which leaves absences out, is asked for what the first has found.
const isOverdue = `s.state = 'pending' AND s.queued_at < now() - ${maxWait}
  AND s.queued_at + interval '0' < ${fleetAgo(maxWait)}`;

// Of each project in which something waits those at the head, by jumps through the index: as much is read as is found,
// whatever waits.
const overdueSessions = `
WITH RECURSIVE waiting AS (
  (SELECT project_id FROM sessions WHERE state = 'pending' ORDER BY project_id LIMIT 1)
  UNION ALL
  (SELECT next.project_id FROM waiting, LATERAL (
     SELECT project_id FROM sessions WHERE state = 'pending' AND project_id > waiting.project_id
     ORDER BY project_id LIMIT 1) next)
)
SELECT overdue.id FROM waiting JOIN projects ON projects.id = waiting.project_id CROSS JOIN LATERAL (
  SELECT s.id FROM sessions s WHERE s.project_id = projects.id AND ${isOverdue} ORDER BY s.queued_at LIMIT ${perTick}
) overdue LIMIT ${perTick}`;

const overdueOne = `
SELECT coalesce(projects.max_wait_seconds, $1) AS max_wait, projects.max_wait_seconds IS NOT NULL AS own
FROM sessions s JOIN projects ON projects.id = s.project_id WHERE s.id = $2 AND ${isOverdue} FOR UPDATE OF s`;

async function reapQueue(deps: ReapDeps): Promise<void> {
  const due = await lookInOrder<{ id: string }>(deps.database, overdueSessions, [deps.queueMaxWaitSeconds]);
  for (const { id } of due) {
    const ended = await deps.database
      .transaction(async (tx) => {
        // Looked at again under the lock: it may have been placed, or placed and lost, since.
        const [still] = await tx.query<OverdueRow>(overdueOne, [deps.queueMaxWaitSeconds, id]);
        if (still === undefined) return false;
        await endSession(deps, tx, {
          sessionId: id,
          reason: 'queue_deadline',
          message: overdueSentence(still),
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

function overdueSentence({ max_wait: seconds, own }: OverdueRow): string {
  const bound = own ? "the project's maximum wait" : 'LEMNISCATE_QUEUE_MAX_WAIT_SECONDS';
  return `No slot became free within ${seconds} second${seconds === 1 ? '' : 's'} (${bound}). Add agent servers or try later.`;
}
