import { loseAttempt } from './lose-attempt.ts';
import type { LoseAttemptDeps } from './lose-attempt.ts';

const perTick = 200;

/**
 * Finds sessions that start or run while their attempt is closed, and lets them go on with another. No way to that is known:
 * both change in one transaction. But such a session has no lease that could expire, and without this look it would run for
 * ever; a fault of that kind was there once (an order whose answer was lost, taken back behind the report that it ran).
 * @returns how many were found
 */
export async function loseClosed(deps: LoseAttemptDeps): Promise<number> {
  const found = await deps.database.query<{ session_id: string; attempt: number; server_id: string }>(
    `SELECT a.session_id, a.attempt, a.server_id FROM sessions s
     JOIN attempts a ON a.session_id = s.id AND a.attempt = s.attempt
     WHERE s.state IN ('starting', 'running') AND a.state <> 'live' LIMIT ${perTick}`,
  );
  for (const row of found)
    await loseAttempt(deps, {
      sessionId: row.session_id,
      attempt: row.attempt,
      serverId: row.server_id,
      why: 'closed',
    });
  return found.length;
}
