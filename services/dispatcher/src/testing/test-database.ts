import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { testVariable } from './test-variable.ts';

/** An empty database of a test's own. */
export interface TestDatabase {
  readonly url: URL;
  drop(): Promise<void>;
}

/** Creates a database beside the one that the runner names. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const url = new URL(testVariable('LEMNISCATE_TEST_DATABASE_URL'));
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  const name = `control_${randomBytes(6).toString('hex')}`;
  await admin.query(`CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  return {
    url,
    drop: async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}
