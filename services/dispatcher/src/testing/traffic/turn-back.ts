import { Client } from 'pg';

/** A column of a table that holds a moment. */
export interface TimeColumn {
  readonly table: string;
  readonly name: string;
}

/** Every moment that the record can hold, views left out. */
export async function timeColumns(client: Client): Promise<TimeColumn[]> {
  const { rows } = await client.query<TimeColumn>(
    `SELECT c.table_name AS table, c.column_name AS name FROM information_schema.columns c
     JOIN pg_tables t ON t.tablename = c.table_name AND t.schemaname = c.table_schema
     WHERE c.table_schema = 'public' AND c.udt_name IN ('timestamptz', 'timestamp') AND c.table_name <> 'schema_migrations'
     ORDER BY 1, 2`,
  );
  return rows;
}

/**
 * Lets time pass for a whole record, as its clock would: everything that is written down is so much longer ago. But for the
 * audit log, which nobody changes, and by which nothing runs out.
 * @param url of the record's owner
 */
export async function turnBack(url: URL, ms: number): Promise<void> {
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    const columns = Map.groupBy(await timeColumns(client), ({ table }) => table);
    await client.query('BEGIN');
    await client.query("SET LOCAL session_replication_role = 'replica'");
    for (const [table, names] of columns) {
      if (table.startsWith('audit_')) continue;
      const assignments = names.map(({ name }) => `${name} = ${name} - $1 * interval '1 millisecond'`);
      await client.query(`UPDATE ${table} SET ${assignments.join(', ')}`, [ms]);
    }
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}
