import { pausableRuntimes } from '@lemniscate/shared/protocol/session-order.ts';
import type { AgentServers } from '../ports/agent-servers.ts';
import type { Log } from '../ports/log.ts';
import type { Database } from '../ports/transaction.ts';
import { fleetAgo } from '../recovery/fleet-clock.ts';
import { waitsOfSession } from './waits.ts';

export interface ParkDeps {
  readonly database: Database;
  readonly servers: AgentServers;
  readonly log: Log;
  /** A session that has waited so long is put away. Seconds. */
  readonly pauseAfterSeconds: number;
}

/** How many are told at once; the next run takes the rest. */
const atOnce = 200;

/**
 * A session that waits for its sub-agent frees its slot much earlier: a fleet full of waiting parents has none for those
 * whom they wait for. Seconds.
 */
const forSubAgentSeconds = 5;

interface ParkedRow extends Record<string, unknown> {
  readonly id: string;
  readonly attempt: number;
  readonly server_id: string | null;
  readonly reason: string;
}

/**
 * Tells sessions that have waited long for a person to store themselves and to free their slots; and takes the word
 * back from those whose answer has come before they did. Heartbeats repeat it until it has happened.
 * @returns how many were told
 */
export async function parkWaiting(deps: ParkDeps): Promise<number> {
  const { database } = deps;
  await database.query(
    `UPDATE sessions s SET pause_requested = NULL WHERE s.pause_requested IS NOT NULL
       AND s.pause_requested NOT IN ('by_person', 'drained') AND s.state IN ('starting', 'running')
       AND NOT EXISTS (SELECT FROM ${waitsOfSession} w WHERE w.since IS NOT NULL)`,
  );
  const parked = await database.query<ParkedRow>(
    `WITH due AS (
       SELECT s.id, w.reason FROM sessions s CROSS JOIN LATERAL (
         SELECT reason, since FROM ${waitsOfSession} w WHERE since IS NOT NULL ORDER BY since LIMIT 1
       ) w
       WHERE s.state = 'running' AND s.phase = 'waiting' AND s.pause_requested IS NULL AND s.stop_reason IS NULL
         AND s.runtime = ANY ($2) AND w.since < CASE w.reason WHEN 'awaiting_sub_agent'
           THEN (SELECT ${fleetAgo('make_interval(secs => least($1::float8, $3::float8))')})
           ELSE (SELECT ${fleetAgo('make_interval(secs => $1::float8)')}) END
       LIMIT ${atOnce}
     )
     UPDATE sessions SET pause_requested = due.reason FROM due
     WHERE sessions.id = due.id AND sessions.state = 'running' AND sessions.pause_requested IS NULL
     RETURNING sessions.id, sessions.attempt, sessions.server_id, due.reason`,
    [deps.pauseAfterSeconds, pausableRuntimes, forSubAgentSeconds],
  );
  for (const { id, attempt, server_id: server, reason } of parked) {
    deps.log.info({ session: id, reason }, 'a session that waits is put away');
    if (server !== null) deps.servers.pause(server, { sessionId: id, attempt }, reason);
  }
  return parked.length;
}
