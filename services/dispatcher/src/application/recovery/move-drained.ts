import { pausableRuntimes } from '@lemniscate/shared/protocol/session-order.ts';
import { fleetNow } from './fleet-clock.ts';
import { loseAttempt } from './lose-attempt.ts';
import type { LoseAttemptDeps } from './lose-attempt.ts';

const perTick = 200;

/** A server that was told to put a session away has so long to begin with it, and to finish. Seconds. */
const graceSeconds = { begin: 60, finish: 300 } as const;

interface DrainedRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly attempt: number;
  readonly server_id: string;
}

/**
 * Moves what is left on drained servers after their deadline, which is no loss. What works there is told to put itself away
 * and goes on elsewhere from where it was; what has not begun, cannot be stored or does not follow is cut off and goes on from
 * its last checkpoint.
 */
export async function moveDrained(deps: LoseAttemptDeps): Promise<void> {
  await takeBack(deps);
  await askToPutAway(deps);
  for (const row of await findStuck(deps))
    await loseAttempt(deps, {
      sessionId: row.session_id,
      attempt: row.attempt,
      serverId: row.server_id,
      why: 'drained',
    });
}

/** The server is used again, or has got another deadline: what has not followed yet stays. */
async function takeBack({ database }: LoseAttemptDeps): Promise<void> {
  await database.query(
    `UPDATE sessions s SET pause_requested = NULL WHERE s.pause_requested = 'drained' AND s.state = 'running'
       AND NOT EXISTS (SELECT FROM agent_servers WHERE id = s.server_id AND drain_deadline < ${fleetNow})`,
  );
}

async function askToPutAway(deps: LoseAttemptDeps): Promise<void> {
  const told = await deps.database.query<DrainedRow>(
    `WITH due AS (
       SELECT s.id FROM agent_servers JOIN attempts a ON a.server_id = agent_servers.id AND a.state = 'live'
       JOIN sessions s ON s.id = a.session_id AND s.attempt = a.attempt
       WHERE agent_servers.drain_deadline < ${fleetNow} AND s.state = 'running' AND s.stop_reason IS NULL
         AND s.pause_requested IS DISTINCT FROM 'drained' AND s.pause_requested IS DISTINCT FROM 'by_person'
         AND s.runtime = ANY ($1) ORDER BY s.id LIMIT ${perTick}
     ) UPDATE sessions SET pause_requested = 'drained', version = version + 1 FROM due
     WHERE sessions.id = due.id AND sessions.state = 'running' AND sessions.pause_requested IS DISTINCT FROM 'by_person'
     RETURNING sessions.id AS session_id, sessions.attempt, sessions.server_id`,
    [pausableRuntimes],
  );
  for (const { session_id: sessionId, attempt, server_id: server } of told) {
    deps.log.info({ session: sessionId, server }, 'a session is put away, since its server is drained');
    deps.servers.pause(server, { sessionId, attempt }, 'drained');
  }
}

/** What cannot be put away, and what was told to and has not followed. */
async function findStuck({ database }: LoseAttemptDeps): Promise<DrainedRow[]> {
  return database.query<DrainedRow>(
    `SELECT a.session_id, a.attempt, a.server_id FROM agent_servers
     JOIN attempts a ON a.server_id = agent_servers.id AND a.state = 'live'
     JOIN sessions s ON s.id = a.session_id
     WHERE agent_servers.drain_deadline < ${fleetNow} AND (s.state <> 'running' OR NOT s.runtime = ANY ($1)
       OR agent_servers.drain_deadline < ${fleetNow} - make_interval(secs => CASE s.phase WHEN 'pausing' THEN $3::float8 ELSE $2::float8 END))
     LIMIT ${perTick}`,
    [pausableRuntimes, graceSeconds.begin, graceSeconds.finish],
  );
}
