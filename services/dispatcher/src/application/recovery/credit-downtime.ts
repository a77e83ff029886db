import type { Log } from '../ports/log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { deadlines } from './times-of-record.ts';

export interface WatchDeps {
  readonly database: Database;
  readonly log: Log;
  readonly leaseMs: number;
  /** The longest distance of two ticks, of whichever dispatchers, that is no absence. Milliseconds. */
  readonly normalGapMs: number;
}

const ofMs = (parameter: string): string => `${parameter}::float8 * interval '1 millisecond'`;

/**
 * Says that somebody watches over the fleet. Where nobody did for longer than is normal, Postgres or all dispatchers being
 * away, the first to come back credits the absence, once for the fleet: leases begin anew and open deadlines move. Whatever
 * asks how long something has lasted leaves the absence out by itself, from its beginning and not only from the credit on
 * (`fleetNow`, `fleetAgo`, `readWaitedMs`), so nothing depends on who comes first.
 */
export async function tickFleet(deps: WatchDeps): Promise<void> {
  const ticked = await deps.database.query(
    `UPDATE fleet_watch SET ticked_at = clock_timestamp(), normal_ms = $1
     WHERE ticked_at >= clock_timestamp() - ${ofMs('$1')} RETURNING 1 AS ticked`,
    [Math.round(deps.normalGapMs)],
  );
  if (ticked.length > 0) return;
  const credited = await deps.database.transaction((tx) => creditAbsence(deps, tx));
  if (credited !== null && credited.leases > 0)
    deps.log.info(credited, 'leases and deadlines were extended by the time of our own absence');
}

interface Absence extends Record<string, unknown> {
  readonly since: string | null;
  readonly gap_ms: number;
}

async function creditAbsence(
  deps: WatchDeps,
  tx: Transaction,
): Promise<{ gapMs: number; leases: number } | null> {
  const [before] = await tx.query<{ away: boolean }>(
    `SELECT coalesce(ticked_at < clock_timestamp() - ${ofMs('$1')}, true) AS away FROM fleet_watch FOR UPDATE`,
    [deps.normalGapMs],
  );
  // Somebody else came first: their credit is on record now.
  if (before?.away !== true) return null;
  const [absence] = await tx.query<Absence>(
    // A lease renewed later than the last tick is the word of a dispatcher too, perhaps of a version that does not tick.
    `SELECT watch.since::text, coalesce(extract(epoch FROM clock_timestamp() - watch.since) * 1000, 0)::float8 AS gap_ms
     FROM (SELECT CASE WHEN ticked_at IS NOT NULL THEN greatest(ticked_at, (SELECT max(lease_expires_at) FROM attempts
       WHERE state = 'live') - ${ofMs('$1')}) END AS since FROM fleet_watch) watch`,
    [deps.leaseMs],
  );
  const leases = await renewAll(tx, deps.leaseMs);
  const gapMs = absence === undefined || absence.gap_ms <= deps.normalGapMs ? 0 : absence.gap_ms;
  if (absence?.since != null && gapMs > 0) await moveBy(tx, absence.since, gapMs);
  await tx.query('UPDATE fleet_watch SET ticked_at = clock_timestamp(), normal_ms = $1', [
    Math.round(deps.normalGapMs),
  ]);
  return { gapMs: Math.round(gapMs), leases };
}

/** A lease counts silence of the server, never ours or that of Postgres. */
async function renewAll(tx: Transaction, leaseMs: number): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    // In the order in which heartbeats lock them.
    `WITH alive AS MATERIALIZED (
       SELECT session_id, attempt FROM attempts WHERE state = 'live' ORDER BY session_id, attempt FOR NO KEY UPDATE
     ), renewed AS (
       UPDATE attempts SET lease_expires_at = greatest(lease_expires_at, clock_timestamp() + ${ofMs('$1')})
       FROM alive WHERE attempts.session_id = alive.session_id AND attempts.attempt = alive.attempt
       RETURNING attempts.attempt
     ) SELECT count(*)::int AS count FROM renewed`,
    [leaseMs],
  );
  return row?.count ?? 0;
}

/** Absences are forgotten when no session can remember them. Days. */
const keptDays = 90;

async function moveBy(tx: Transaction, since: string, gapMs: number): Promise<void> {
  for (const { table, column, open } of deadlines)
    await tx.query(`UPDATE ${table} SET ${column} = ${column} + ${ofMs('$1')} WHERE ${open}`, [gapMs]);
  await tx.query(
    `INSERT INTO fleet_absences (since, until) VALUES ($1::timestamptz, $1::timestamptz + ${ofMs('$2')})`,
    [since, gapMs],
  );
  await tx.query(`DELETE FROM fleet_absences WHERE until < now() - interval '${keptDays} days'`);
}
