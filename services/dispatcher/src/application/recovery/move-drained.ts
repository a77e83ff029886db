import { fleetNow } from './fleet-clock.ts';
import { loseAttempt } from './lose-attempt.ts';
import type { LoseAttemptDeps } from './lose-attempt.ts';

const perTick = 200;

/** Moves what still runs on drained servers after their deadline; it goes on elsewhere and that is no loss. */
export async function moveDrained(deps: LoseAttemptDeps): Promise<void> {
  const due = await deps.database.query<{ session_id: string; attempt: number; server_id: string }>(
    `SELECT attempts.session_id, attempts.attempt, attempts.server_id FROM agent_servers
     JOIN attempts ON attempts.server_id = agent_servers.id AND attempts.state = 'live'
     WHERE agent_servers.drain_deadline < ${fleetNow} LIMIT ${perTick}`,
  );
  for (const row of due)
    await loseAttempt(deps, {
      sessionId: row.session_id,
      attempt: row.attempt,
      serverId: row.server_id,
      why: 'drained',
    });
}
