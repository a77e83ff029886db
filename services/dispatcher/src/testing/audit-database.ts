import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Client, Pool } from 'pg';
import type { PoolClient } from 'pg';
import type { Database, Transaction } from '../application/ports/transaction.ts';

/** Where tests find a Postgres of their own; the runner gives it. */
export const testDatabaseUrl = process.env['LEMNISCATE_TEST_DATABASE_URL'];

/** Reason of a skip where no Postgres is given. */
export const noDatabase =
  testDatabaseUrl === undefined ? 'postgres: LEMNISCATE_TEST_DATABASE_URL is not set' : false;

export interface AuditDatabase {
  readonly url: string;
  /** As the services work: role lemniscate_app. */
  readonly app: Database;
  /** As the migrating owner, who is a superuser here. */
  readonly owner: Transaction;
  drop(): Promise<void>;
}

/** A database of its own with every migration applied. */
export async function createAuditDatabase(connections = 10): Promise<AuditDatabase> {
  const name = `audit_${randomBytes(6).toString('hex')}`;
  const url = new URL(testDatabaseUrl ?? '');
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  const owner = new Pool({ connectionString: url.href, max: 2 });
  for (const migration of await upMigrations()) await owner.query(migration);
  const app = new Pool({
    connectionString: url.href,
    max: connections,
    options: '-c role=lemniscate_app',
  });
  return {
    url: url.href,
    app: { ...transactionOf(app), transaction: (work) => inTransaction(app, work) },
    owner: transactionOf(owner),
    drop: async () => {
      await Promise.all([app.end(), owner.end()]);
      await untilUnused(admin, name);
      await admin.query(`DROP DATABASE ${name}`);
      await admin.end();
    },
  };
}

/** A closed connection's backend lives on for a moment; ending it by force would raise an error in the closing client. */
async function untilUnused(admin: Client, name: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const { rowCount } = await admin.query('SELECT FROM pg_stat_activity WHERE datname = $1', [name]);
    if (rowCount === 0) return;
  }
}

async function upMigrations(): Promise<string[]> {
  const folder = new URL('../../migrations/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  return texts.map((text) => text.split('-- Down Migration')[0] ?? '');
}

function transactionOf(client: Pool | PoolClient): Transaction {
  return {
    query: async <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      (await client.query<Row>(text, [...values])).rows,
  };
}

async function inTransaction<Result>(
  pool: Pool,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(transactionOf(client));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}
