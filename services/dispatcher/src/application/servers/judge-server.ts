import type { Transaction } from '../ports/transaction.ts';
import { failuresAllowed } from './server-fault.ts';
import type { ServerRow } from './server-row.ts';

/** How long a server is left alone at first; it doubles with every further failure, up to a quarter of an hour. */
const restSeconds = 15;
const longestRestSeconds = 900;

/** So many failures of sessions that fail elsewhere too count like one of a session that failed here alone. */
const sharedWeigh = 3;
/** How long a failure tells whether its session fails elsewhere too. Days. */
const rememberedDays = 1;

/** A session that did not start on a server, and how. */
export interface StartFailure {
  readonly serverId: string;
  readonly sessionId: string;
  readonly how: string;
}

/**
 * A session did not start there: its order failed, or it never got to run. Sessions are counted, not failures. Once a
 * session has failed on a second server it is the likelier cause, and weighs little for both: three orders that no
 * server can take put a whole pool on probation. They still weigh, for a pool in which nothing starts looks the same
 * from here. What fails while the server is left alone already is of the same incident and counts no more: a server
 * that died with ten orders under way was out for a quarter of an hour.
 * @param tx a transaction: the rows of all servers that the session has met are locked, by id
 */
export async function noteStartFailure(
  tx: Transaction,
  { serverId, sessionId, how }: StartFailure,
): Promise<void> {
  const met = await tx.query<{ id: string }>(
    `SELECT id FROM agent_servers
     WHERE id = $1 OR id IN (SELECT server_id FROM start_failures WHERE session_id = $2)
     ORDER BY id FOR NO KEY UPDATE`,
    [serverId, sessionId],
  );
  await tx.query(
    `INSERT INTO start_failures (server_id, session_id, counts)
     SELECT id, $2, coalesce(excluded_until <= now(), true) FROM agent_servers WHERE id = $1
     ON CONFLICT (server_id, session_id) DO UPDATE
       SET failed_at = clock_timestamp(), counts = start_failures.counts OR EXCLUDED.counts`,
    [serverId, sessionId],
  );
  await tx.query(
    `UPDATE agent_servers SET last_failure = $2, last_failure_at = clock_timestamp() WHERE id = $1`,
    [serverId, how.slice(0, 500)],
  );
  await countFailures(tx, serverId, met);
  await tx.query(
    `DELETE FROM start_failures WHERE (server_id, session_id) IN (
       SELECT server_id, session_id FROM start_failures
       WHERE failed_at < now() - $1 * interval '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
    [rememberedDays],
  );
}

/** Counts anew at every server that the session has met; only where it has just failed a rest may begin. */
async function countFailures(
  tx: Transaction,
  serverId: string,
  met: readonly { readonly id: string }[],
): Promise<void> {
  await tx.query(
    `UPDATE agent_servers s SET start_failures = counted.failures,
       excluded_until = CASE WHEN counted.failures < $3 THEN NULL
         WHEN s.id <> $1 OR s.excluded_until > now() THEN s.excluded_until
         ELSE now() + interval '1 second' * least($4 * power(2, least(10, counted.failures - $3)), $5) END
     FROM (
       SELECT a.id, count(*) FILTER (WHERE f.alone) + count(*) FILTER (WHERE NOT f.alone) / $6 AS failures
       FROM agent_servers a LEFT JOIN LATERAL (
         SELECT NOT EXISTS (SELECT FROM start_failures e
           WHERE e.session_id = o.session_id AND e.server_id <> o.server_id) AS alone
         FROM start_failures o
         WHERE o.server_id = a.id AND o.counts AND o.failed_at > coalesce(a.cleared_at, '-infinity')
       ) f ON true
       WHERE a.id = ANY($2) GROUP BY a.id
     ) counted
     WHERE s.id = counted.id`,
    [serverId, met.map(({ id }) => id), failuresAllowed, restSeconds, longestRestSeconds, sharedWeigh],
  );
}

/** A session runs there that began after the last failure: the server works, and what it said of that failure goes. */
export async function noteStarted(tx: Transaction, serverId: string): Promise<void> {
  await tx.query(
    `UPDATE agent_servers SET start_failures = 0, excluded_until = NULL, last_failure = NULL, cleared_at = clock_timestamp()
     WHERE id = $1 AND last_failure IS NOT NULL`,
    [serverId],
  );
}

/** Sessions that a newcomer must have brought to their end before it may use all of its slots. */
const provedBy = 3;

/** Lifts a newcomer's clamp when it has proved itself. @returns the row as it is now */
export async function liftClamp(tx: Transaction, server: ServerRow): Promise<ServerRow> {
  if (server.clamp === null) return server;
  const [ended] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       SELECT FROM attempts WHERE server_id = $1 AND state = 'ended' AND result_digest IS NOT NULL LIMIT ${provedBy}
     ) results`,
    [server.id],
  );
  if ((ended?.count ?? 0) < provedBy) return server;
  await tx.query('UPDATE agent_servers SET clamp = NULL WHERE id = $1', [server.id]);
  return { ...server, clamp: null };
}
