import type { Transaction } from '../ports/transaction.ts';
import { failuresAllowed } from './server-fault.ts';
import type { ServerRow } from './server-row.ts';

/** How long a server is left alone at first; it doubles with every further failure, up to a quarter of an hour. */
const restSeconds = 15;
const longestRestSeconds = 900;

/**
 * A session did not start there: it failed the order, or never got to run. What fails while the server is left alone
 * already is of the same incident and counts no more: a server that died with ten orders under way was out for a
 * quarter of an hour.
 */
export async function noteStartFailure(tx: Transaction, serverId: string, how: string): Promise<void> {
  await tx.query(
    `UPDATE agent_servers SET last_failure = $2, last_failure_at = now(),
       start_failures = CASE WHEN excluded_until > now() THEN start_failures ELSE start_failures + 1 END,
       excluded_until = CASE WHEN excluded_until > now() THEN excluded_until
         WHEN start_failures + 1 >= $3 THEN now() + interval '1 second'
           * least($4 * power(2, least(10, start_failures + 1 - $3)), $5) END
     WHERE id = $1`,
    [serverId, how.slice(0, 500), failuresAllowed, restSeconds, longestRestSeconds],
  );
}

/** A session runs there that began after the last failure: the server works, and what it said of that failure goes. */
export async function noteStarted(tx: Transaction, serverId: string): Promise<void> {
  await tx.query(
    `UPDATE agent_servers SET start_failures = 0, excluded_until = NULL, last_failure = NULL WHERE id = $1 AND start_failures > 0`,
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
