import { Client } from 'pg';
import { createDatabase } from '../adapters/postgres/database.ts';
import { migrate } from '../adapters/postgres/migrations.ts';
import type { Database, Transaction } from '../application/ports/transaction.ts';
import { createTestDatabase } from './test-database.ts';

/** Reason of a skip where no Postgres is given. */
export const noDatabase =
  process.env['LEMNISCATE_TEST_DATABASE_URL'] === undefined
    ? 'postgres: LEMNISCATE_TEST_DATABASE_URL is not set'
    : false;

export interface AuditDatabase {
  /** As the services work: role lemniscate_app. */
  readonly app: Database;
  /** As the migrating owner, who is a superuser here. */
  readonly owner: Transaction;
  drop(): Promise<void>;
}

/** A database of its own with every migration applied. */
export async function createAuditDatabase(connections = 10): Promise<AuditDatabase> {
  const { url, drop } = await createTestDatabase();
  await migrate(url, () => undefined);
  const owner = new Client({ connectionString: url.href });
  // dropping the database by force may end it before it has ended itself
  owner.on('error', () => undefined);
  await owner.connect();
  const app = createDatabase({
    url,
    connections,
    statementTimeoutMs: 30_000,
    onConnectionError: () => undefined,
  });
  return {
    app,
    owner: {
      query: async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
        (await owner.query<Row>(text, [...values])).rows,
    },
    drop: async () => {
      await app.close();
      await untilAlone(owner);
      await owner.end();
      await drop();
    },
  };
}

/** A closed connection's backend lives on for a moment; ending it by force would raise an error in the closing client. */
async function untilAlone(client: Client): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    const { rowCount } = await client.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    if (rowCount === 0) return;
  }
}
