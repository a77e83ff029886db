import pg from 'pg';
import { projects as cast } from './cast.ts';
import type { ArrangedProject } from './arrange-projects.ts';
import { tellChain } from './chain.ts';
import { createChance } from './random.ts';
import { rowsOfSession } from './rows.ts';
import type { ToldSession } from './story.ts';
import { tellPatch } from './patches.ts';

const slotUsdPerHour = '0.096';
/** Sessions of one transaction. */
const batch = 100;

/**
 * Writes a month into a fleet's record, past its API, which makes nothing of the past. Sessions, events, costs and diffs
 * are rows as the fleet writes them; the audit chains are linked, and the exporter seals them like any other.
 * @returns how many sessions were written; 0 where they were there already
 */
export async function writeMonth(
  databaseUrl: string,
  month: readonly ToldSession[],
  projects: ReadonlyMap<string, ArrangedProject>,
): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const there = await client.query('SELECT 1 FROM sessions WHERE project_id = ANY($1) LIMIT 1', [
      cast.map(({ id }) => id),
    ]);
    if (there.rowCount !== 0) return 0;
    const pseudonyms = await nameFolk(client, month);
    for (let start = 0; start < month.length; start += batch) {
      await client.query('BEGIN');
      await writeBatch(client, month.slice(start, start + batch), projects, pseudonyms);
      await client.query('COMMIT');
    }
    await client.query(
      `INSERT INTO pool_prices (pool, from_day, usd_per_slot_hour) VALUES ('default', current_date - 60, ${slotUsdPerHour})
       ON CONFLICT DO NOTHING`,
    );
    await client.query(
      `UPDATE cost_budgets b SET granted_usd = least(b.amount_usd, s.usd) FROM (
         SELECT project_id, round(sum(input_usd + output_usd + cache_read_usd + cache_write_usd + compute_usd), 2) AS usd
         FROM cost_entries WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date GROUP BY 1) s
       WHERE b.scope = 'project' AND b.name = s.project_id`,
    );
    return month.length;
  } finally {
    await client.end();
  }
}

/** Pseudonyms of the audit log for everybody who acts. */
async function nameFolk(
  client: pg.Client,
  month: readonly ToldSession[],
): Promise<ReadonlyMap<string, string>> {
  const chance = createChance(42);
  for (const subject of new Set(month.map((session) => session.subject)))
    await client.query(
      'INSERT INTO audit_people (pseudonym, identity) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [`person:${chance.hex(24)}`, subject],
    );
  const { rows } = await client.query<{ pseudonym: string; identity: string }>(
    'SELECT pseudonym, identity FROM audit_people WHERE identity IS NOT NULL',
  );
  return new Map(rows.map(({ pseudonym, identity }) => [identity, pseudonym]));
}

async function writeBatch(
  client: pg.Client,
  sessions: readonly ToldSession[],
  projects: ReadonlyMap<string, ArrangedProject>,
  pseudonyms: ReadonlyMap<string, string>,
): Promise<void> {
  const tables = new Map<string, Record<string, unknown>[]>();
  for (const session of sessions) {
    const project = projects.get(session.project.id);
    if (project === undefined) throw new Error(`the project ${session.project.id} was not arranged`);
    const patch = session.diff === null ? null : tellPatch(session, session.diff.files);
    for (const [table, rows] of Object.entries(rowsOfSession(session, patch, project)))
      tables.set(table, [...(tables.get(table) ?? []), ...rows]);
    const chain = tellChain(
      session,
      patch,
      project.digest,
      pseudonyms.get(session.subject) ?? session.subject,
    );
    const column = <Value>(read: (entry: (typeof chain)[number]) => Value): Value[] => chain.map(read);
    await client.query(
      `INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
       SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[])`,
      [
        column((entry) => entry.chain),
        column((entry) => entry.seq),
        column((entry) => entry.prev),
        column((entry) => entry.digest),
        column((entry) => entry.body),
        column((entry) => entry.type),
        column((entry) => entry.at),
      ],
    );
  }
  for (const table of ['sessions', 'attempts', 'session_events', 'usage', 'cost_entries', 'diffs'])
    await insert(client, table, tables.get(table) ?? []);
}

/** Columns that are left out keep their defaults. */
async function insert(
  client: pg.Client,
  table: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first).join(', ');
  await client.query(
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1)`,
    [JSON.stringify(rows)],
  );
}
