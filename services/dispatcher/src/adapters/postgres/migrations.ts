import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { Client } from 'pg';
import { mapError } from './postgres-fault.ts';

/** Where the SQL files lie. */
export const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/**
 * Brings the schema up to date. Runs on a direct connection of the owner, since session advisory locks break behind a
 * transaction pooler; dispatchers that start together wait for each other.
 * @param log told of each migration that ran
 * @returns the names of the migrations that ran
 * @throws CodedError `service_unreachable`
 */
export async function migrate(url: URL, log: (message: string) => void): Promise<string[]> {
  const client = new Client({
    connectionString: url.href,
    connectionTimeoutMillis: 5_000,
    application_name: 'lemniscate-migrations',
  });
  // Its statements fail as well, which is what is told; without a listener the process would end first.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // NOTICEs such as "role exists" are no news.
    await client.query("SET client_min_messages = 'warning'");
    const migrateOnce = () =>
      runner({
        dbClient: client,
        dir: migrationsFolder,
        direction: 'up',
        migrationsTable: 'schema_migrations',
        checkOrder: true,
        singleTransaction: true,
        advisoryLockMode: 'wait',
        logger: { info: () => undefined, debug: () => undefined, warn: log, error: log },
      });
    // Roles belong to all databases of a server, and the lock to one: two that begin together may both make the role.
    const done = await migrateOnce().catch((error: unknown) => {
      if (!isRoleTaken(error)) throw error;
      return migrateOnce();
    });
    return done.map((migration) => migration.name);
  } catch (error) {
    throw mapError(error, url);
  } finally {
    await client.end();
  }
}

function isRoleTaken(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'pg_authid_rolname_index';
}
