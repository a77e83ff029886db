import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase } from '../../adapters/postgres/database.ts';
import { migrate } from '../../adapters/postgres/migrations.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import { noteStartFailure } from './judge-server.ts';

test('what fails in one incident counts as one, and the next one after it doubles the rest', async (t) => {
  const own = await createTestDatabase();
  t.after(() => own.drop());
  await migrate(own.url, () => undefined);
  const database = createDatabase({
    url: own.url,
    connections: 5,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
  });
  t.after(() => database.close());
  await database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ('a', 'https://a:1', 'default', 9)`,
  );
  const seen = async () => {
    const [row] = await database.query<{ failures: number; rest: number | null }>(
      `SELECT start_failures AS failures, round(extract(epoch FROM excluded_until - last_failure_at))::int AS rest
       FROM agent_servers`,
    );
    return row;
  };
  await noteStartFailure(database, 'a', 'cut');
  await noteStartFailure(database, 'a', 'cut');
  assert.deepEqual(await seen(), { failures: 2, rest: null });
  for (let orders = 0; orders < 10; orders += 1) await noteStartFailure(database, 'a', 'cut');
  const out = await seen();
  assert.equal(out?.failures, 3);
  assert.ok((out.rest ?? 0) <= 15);
  await database.query(`UPDATE agent_servers SET excluded_until = now() - interval '1 second'`);
  await noteStartFailure(database, 'a', 'again');
  assert.deepEqual(await seen(), { failures: 4, rest: 30 });
});
