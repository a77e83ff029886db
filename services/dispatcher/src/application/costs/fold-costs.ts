import type { Database, Transaction } from '../ports/transaction.ts';
import { rollups } from './cost-columns.ts';
import type { RollupName } from './cost-columns.ts';

const names = Object.keys(rollups) as RollupName[];

const longStatements = `SET LOCAL statement_timeout = '10min'`;

/**
 * Brings the rollups up to what no open transaction can add to any more. Entries carry the id of their transaction:
 * everything from the cursor up to the oldest running one is folded once, in one transaction with the cursor.
 * @returns whether there was anything to fold
 */
export async function foldCosts(database: Database): Promise<boolean> {
  return database.transaction(async (tx) => {
    // After a long absence, or the first time, the span can be millions of rows.
    await tx.query(longStatements);
    const [cursors] = await tx.query<Cursors>(`${readCursors} FOR UPDATE SKIP LOCKED`);
    return cursors === undefined ? false : foldUpTo(tx, cursors);
  });
}

/** Throws the rollups away and makes them again out of every entry. The result is the same to the last digit. */
export async function rebuildCosts(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(longStatements);
    const [cursors] = await tx.query<Cursors>(`${readCursors} FOR UPDATE`);
    for (const name of names) await tx.query(`DELETE FROM ${name}`);
    await foldUpTo(tx, { xid: '0', session_days_xid: '0', served_xid: '0', to: cursors?.to ?? '0' });
  });
}

/** Up to where the rollups are, and up to where they can be brought; transaction ids. */
type Cursors = Readonly<Record<'xid' | 'session_days_xid' | 'served_xid' | 'to', string>>;
const readCursors = `SELECT xid::text, session_days_xid::text, served_xid::text, pg_snapshot_xmin(pg_current_snapshot())::text AS "to"
  FROM cost_fold`;

async function foldUpTo(tx: Transaction, cursors: Cursors): Promise<boolean> {
  const { xid, session_days_xid: daysXid, served_xid: servedXid, to } = cursors;
  // What a dispatcher of a version before has folded without them.
  if (daysXid !== xid) await tx.query(foldStatement(['cost_session_days']), [daysXid, xid]);
  if (servedXid !== xid) {
    await tx.query(foldStatement(['cost_served_days']), [servedXid, xid]);
    await tx.query(foldRequests, [servedXid, xid]);
  }
  const [folded] = await tx.query<{ count: number }>(foldStatement(names), [xid, to]);
  await tx.query(
    'UPDATE cost_fold SET xid = $1::xid8, session_days_xid = $1::xid8, served_xid = $1::xid8, folded_at = now()',
    [to],
  );
  return (folded?.count ?? 0) > 0;
}

const finest = rollups.cost_sessions;

/** Adds the requests of a span alone, to rows that a fold without them has made. */
const foldRequests = `
  UPDATE cost_sessions c SET requests = c.requests + e.requests
  FROM (SELECT ${finest.keys.join(', ')}, sum(requests) AS requests FROM cost_entries
    WHERE xid >= $1::xid8 AND xid < $2::xid8 AND requests <> 0 GROUP BY ${finest.keys.join(', ')}) e
  WHERE (${finest.keys.map((key) => `c.${key}`).join(', ')}) = (${finest.keys.map((key) => `e.${key}`).join(', ')})`;

/**
 * What was put right while its month still ran is no correction to FOCUS, whose corrections are those of a billing period
 * that was invoiced before.
 */
const foldedKind = `CASE WHEN kind = 'correction'
  AND date_trunc('month', at AT TIME ZONE 'UTC') = date_trunc('month', day::timestamp) THEN 'amendment' ELSE kind END`;

/**
 * Adds the sums of a span of entries to rollups. The entries are read once: every rollup is made of the finest one's
 * rows. Names are ours, never a caller's.
 */
function foldStatement(into: readonly RollupName[]): string {
  const columns = [...finest.keys, ...finest.facts];
  const read = columns.map((column) => (column === 'kind' ? 'folded_kind AS kind' : column));
  const grouped = columns.map((column) => (column === 'kind' ? 'folded_kind' : column));
  const summed = Object.entries(finest.sums).map(([column, from]) => `sum(${from}) AS ${column}`);
  return `WITH fine AS MATERIALIZED (
      SELECT ${read.join(', ')}, coalesce(served_model, model) AS served_model, ${summed.join(', ')} FROM (
        SELECT *, ${foldedKind} AS folded_kind FROM cost_entries WHERE xid >= $1::xid8 AND xid < $2::xid8) AS entries
      GROUP BY ${grouped.join(', ')}, served_model),
    ${into.map((name) => `into_${name} AS (${addTo(name)})`).join(',\n    ')}
    SELECT count(*)::int AS count FROM fine`;
}

function addTo(name: RollupName): string {
  const { keys, facts, sums } = rollups[name];
  const columns = [...keys, ...facts].join(', ');
  const summed = Object.entries(sums);
  const added = summed.map(([column]) => `${column} = ${name}.${column} + excluded.${column}`).join(', ');
  return `INSERT INTO ${name} (${columns}, ${summed.map(([column]) => column).join(', ')})
      SELECT ${columns}, ${summed.map(([, expression]) => `sum(${expression})`).join(', ')} FROM fine
      GROUP BY ${columns} ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${added}`;
}

/**
 * Appends what the slots of finished attempts cost, at the price that their pool had on the day. A pool without a
 * price costs nothing, and its slot-seconds are counted all the same.
 */
export async function appendComputeCosts(database: Database): Promise<number> {
  const rows = await database.query(
    `WITH due AS (
       SELECT session_id, attempt FROM attempts WHERE NOT costed AND ended_at IS NOT NULL
       ORDER BY ended_at LIMIT 500 FOR UPDATE SKIP LOCKED),
     marked AS (
       UPDATE attempts a SET costed = true FROM due
       WHERE a.session_id = due.session_id AND a.attempt = due.attempt
       RETURNING a.session_id, a.server_id, (a.created_at AT TIME ZONE 'UTC')::date AS day,
         extract(epoch FROM a.ended_at - a.created_at) AS seconds)
     INSERT INTO cost_entries (kind, session_id, day, project_id, agent, subject, runtime, provider, model, cost_centre,
       slot_seconds, compute_usd)
     SELECT 'compute', m.session_id, m.day, s.project_id, s.agent, s.opened_by, s.runtime, 'fleet',
       'slot ' || coalesce(v.pool, 'unknown'), coalesce(c.cost_centre, ''), m.seconds,
       coalesce(m.seconds * (SELECT usd_per_slot_hour FROM pool_prices p
         WHERE p.pool = v.pool AND p.from_day <= m.day ORDER BY p.from_day DESC LIMIT 1) / 3600, 0)
     FROM marked m JOIN sessions s ON s.id = m.session_id LEFT JOIN agent_servers v ON v.id = m.server_id
       LEFT JOIN cost_centres c ON c.project_id = s.project_id
     RETURNING 1`,
  );
  return rows.length;
}
