import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { createTestRecord } from '../../testing/traffic/record.ts';
import { within } from '../../testing/within.ts';
import { createDatabase } from './database.ts';
import { startGrowthWatch } from './growth-watch.ts';

test('a plan of a small table is made anew when the table has grown, before Postgres has counted', async (t) => {
  const record = await createTestRecord();
  const parts = new AsyncDisposableStack();
  t.after(() => parts.disposeAsync());
  parts.defer(() => record.close());
  const owner = new Client({ connectionString: record.url.href });
  await owner.connect();
  parts.defer(() => owner.end());
  // Nobody counts behind the test's back.
  await owner.query('ALTER TABLE audit_chains SET (autovacuum_enabled = off)');
  const grow = (to: number) =>
    owner.query(
      `INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
       SELECT 'chain-' || n, 1, decode(repeat('00', 32), 'hex'), false, now() FROM generate_series(1, $1::int) AS n
       ON CONFLICT DO NOTHING`,
      [to],
    );
  await grow(10);
  await owner.query('ANALYZE audit_chains');
  const database = createDatabase({
    url: record.url,
    connections: 1,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
  });
  parts.defer(() => database.close());
  const statement = 'SELECT head_seq FROM audit_chains WHERE chain = ANY ($1)';
  // So often, and Postgres keeps a plan for all values.
  for (let times = 0; times < 12; times += 1) await database.query(statement, [['chain-1']]);
  const [prepared] = await database.query<{ name: string }>(
    `SELECT name FROM pg_prepared_statements WHERE statement = $1`,
    [statement],
  );
  const readsAll = async (): Promise<boolean> => {
    const rows = await database.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN EXECUTE ${prepared?.name ?? ''}('{chain-1}')`,
    );
    return rows.some((row) => row['QUERY PLAN'].includes('Seq Scan'));
  };
  let looks = 0;
  const watch = startGrowthWatch({
    database: {
      query: (text, values) => {
        looks += 1;
        return database.query(text, values);
      },
    },
    log: record.log,
    grown: database.forgetPlans,
  });
  parts.defer(() => watch.close());
  await within(30_000, 'the watch knows the size', () => looks > 1);
  assert.equal(await readsAll(), true);
  await grow(20_000);
  await within(30_000, 'the plan is another', async () => !(await readsAll()));
});
