import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestFleet, ordinaryRequest } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import type { TestFleet } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import { within } from '@lemniscate/dispatcher/testing/within.ts';
import { noPgbouncer, poolSize, startPgbouncer } from './pgbouncer.ts';
import type { Pooler } from './pgbouncer.ts';

const connectQuery =
  'SET ROLE lemniscate_app; SET statement_timeout = 10000; SET idle_in_transaction_session_timeout = 20000';

describe('a dispatcher behind PgBouncer in transaction mode', { skip: noPgbouncer }, () => {
  let fleet: TestFleet;
  let direct: string;
  const poolers: Pooler[] = [];
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'one', capacity: 100 }] });
    direct = (await fleet.environment())['DATABASE_URL'] ?? '';
  });
  after(async () => {
    for (const pooler of poolers) await pooler.stop();
    await fleet.remove();
  });
  const behind = async (query: string) => {
    const pooler = await startPgbouncer(new URL(direct), query);
    poolers.push(pooler);
    return { DATABASE_URL: pooler.url, LEMNISCATE_DIRECT_DATABASE_URL: direct };
  };

  test('does not start where the pooler’s connections could change what is append-only', async () => {
    // The schema is there: what is refused is the pooler's connections.
    const first = await fleet.startDispatcher();
    await first.stop();
    await assert.rejects(fleet.startDispatcher(await behind('')), /connect_query.*SET ROLE lemniscate_app/s);
    // Its connections must not be counted below.
    await poolers.pop()?.stop();
  });

  test('opens, places and stops sessions over a handful of shared connections', async () => {
    const dispatcher = await fleet.startDispatcher(await behind(connectQuery));
    const opened = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        dispatcher.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest, {
          'idempotency-key': `pooled-${at}`,
        }),
      ),
    );
    assert.deepEqual([...new Set(opened.map(({ status }) => status))], [202]);
    const ids = opened.map(({ body }) => body.id);
    assert.equal(new Set(ids).size, 60);
    await within(30_000, 'all of them are placed', async () => {
      const [row] = await fleet.sql<{ live: number }>(
        `SELECT count(*)::int AS live FROM attempts WHERE state = 'live' AND session_id = ANY ($1)`,
        [ids],
      );
      return row?.live === 60;
    });
    const [seen] = await fleet.sql<{ connections: number }>(
      `SELECT count(*)::int AS connections FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'lemniscate-dispatcher'`,
    );
    assert.ok((seen?.connections ?? 0) <= poolSize, `${seen?.connections} connections`);
    const stops = await Promise.all(
      ids.map((id) => dispatcher.call<{ state: string }>('POST', `/v1/sessions/${id}/stop`, {})),
    );
    assert.deepEqual([...new Set(stops.map(({ body }) => body.state))], ['user_stopped']);
    const [chains] = await fleet.sql<{ open: number; sessions: number }>(
      `SELECT count(*) FILTER (WHERE NOT closed)::int AS open, count(*)::int AS sessions FROM audit_chains
       WHERE chain = ANY ($1)`,
      [ids.map((id) => `session:${id}`)],
    );
    assert.deepEqual(chains, { open: 0, sessions: 60 });
  });
});
