import { staleAttempt } from '../events/live-attempt.ts';
import type { Log } from '../ports/log.ts';
import type { Database } from '../ports/transaction.ts';
import type { OpenExchanges } from './open-exchanges.ts';

export interface AliveDeps {
  readonly database: Database;
  readonly open: OpenExchanges;
  readonly log: Log;
  /** This process; a new one each start, so that a restarted dispatcher is not taken for the one that died. */
  readonly gatewayId: string;
}

/** Rows of gateways that died long ago are of no use: their exchanges were settled. */
const forgetMinutes = 60;

/** Says that this gateway is alive. */
export async function sayAlive(deps: AliveDeps): Promise<void> {
  await deps.database.query(
    `INSERT INTO gateways (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET seen_at = now()`,
    [deps.gatewayId],
  );
  await deps.database.query(
    `DELETE FROM gateways g WHERE seen_at < now() - make_interval(mins => $1)
       AND NOT EXISTS (SELECT FROM usage u WHERE u.state = 'begun' AND u.gateway = g.id)`,
    [forgetMinutes],
  );
}

/**
 * Ends the exchanges of attempts that are no longer their session's: a lost server must not go on spending.
 * @returns how many attempts were cut off
 */
export async function abortLostExchanges(deps: AliveDeps): Promise<number> {
  const claims = deps.open.claims();
  if (claims.length === 0) return 0;
  const live = await deps.database.query<{ key: string }>(
    `SELECT a.session_id || '/' || a.attempt AS key
     FROM attempts a JOIN sessions s ON s.id = a.session_id AND s.attempt = a.attempt
     WHERE a.state = 'live' AND s.state IN ('starting', 'running') AND a.session_id = ANY ($1)`,
    [claims.map((claim) => claim.sessionId)],
  );
  const keys = new Set(live.map(({ key }) => key));
  const lost = claims.filter((claim) => !keys.has(`${claim.sessionId}/${claim.attempt}`));
  for (const claim of lost) {
    deps.open.abort(claim, staleAttempt(claim));
    deps.log.warn(
      { session: claim.sessionId, attempt: claim.attempt },
      'exchanges of a lost attempt were cut',
    );
  }
  return lost.length;
}
