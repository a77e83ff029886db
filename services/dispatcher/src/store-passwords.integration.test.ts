import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { migrate } from './adapters/postgres/migrations.ts';
import { watchAsBalancer } from './testing/balancer.ts';
import { createTestDatabase } from './testing/test-database.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

/** A password as a store makes one: with letters that an address has to encode. */
const password = (): string => `${randomBytes(9).toString('hex')}@/:%`;
const withLogin = (url: URL, user: string, secret: string): URL => {
  const own = new URL(url);
  own.username = user;
  own.password = encodeURIComponent(secret);
  return own;
};

/** A record that belongs to a login of its own, which is no superuser, as in a fleet. */
async function createOwnedRecord(parts: AsyncDisposableStack) {
  const database = await createTestDatabase();
  parts.defer(() => database.drop());
  // the roles that migrations make belong to the whole cluster
  await migrate(database.url, () => undefined);
  const admin = new Client({ connectionString: database.url.href });
  await admin.connect();
  const [owner, next] = ['a', 'b'].map((end) => `owner_${randomBytes(4).toString('hex')}_${end}`) as [
    string,
    string,
  ];
  parts.defer(async () => {
    await admin.query(`DROP DATABASE IF EXISTS ${owner} WITH (FORCE)`);
    for (const role of [next, owner]) await admin.query(`DROP ROLE IF EXISTS ${role}`);
    await admin.end();
  });
  const first = password();
  await admin.query(`CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${first}'`);
  await admin.query(
    `GRANT lemniscate_app, lemniscate_exporter, lemniscate_appender TO ${owner} WITH ADMIN OPTION`,
  );
  await admin.query(`CREATE DATABASE ${owner} OWNER ${owner}`);
  const url = withLogin(database.url, owner, first);
  url.pathname = `/${owner}`;
  return { admin, owner, next, url };
}

test('the stores’ passwords change without a pause: dispatchers take the new ones one after the other', async (t) => {
  const parts = new AsyncDisposableStack();
  t.after(() => parts.disposeAsync());
  const { admin, owner, next, url } = await createOwnedRecord(parts);
  const fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 5 }] });
  parts.defer(() => fleet.remove());

  const keeper = new Redis(fleet.redis.url.href);
  parts.defer(() => keeper.disconnect());
  const [oldSecret, newSecret] = [password(), password()];
  await keeper.call('ACL', 'SETUSER', 'keeper', 'on', '>keeps', '~*', '&*', '+@all');
  await keeper.call('AUTH', 'keeper', 'keeps');
  await keeper.call('ACL', 'SETUSER', 'fleet', 'on', `>${oldSecret}`, '~*', '&*', '+@all');
  await keeper.call('ACL', 'SETUSER', 'default', 'off');
  const before = {
    DATABASE_URL: url.href,
    REDIS_URL: withLogin(fleet.redis.url, 'fleet', oldSecret).href,
  };

  const dispatchers: (TestDispatcher | null)[] = [];
  for (let index = 0; index < 2; index += 1) dispatchers.push(await fleet.startDispatcher(before));
  const balancer = watchAsBalancer(dispatchers, '/v1/sessions');
  parts.defer(async () => void (await balancer.end()));
  const open = async (): Promise<string> => {
    const through = dispatchers.find((one) => one !== null) ?? assert.fail('nobody is there');
    const opened = await through.call<{ id: string }>('POST', '/v1/sessions', ordinaryRequest);
    assert.equal(opened.status, 202);
    return opened.body.id;
  };
  const sessions = [await open()];

  // both are good for now
  const secret = password();
  await admin.query(`CREATE ROLE ${next} LOGIN PASSWORD '${secret}' IN ROLE ${owner}`);
  await admin.query(`ALTER ROLE ${next} SET role = '${owner}'`);
  await keeper.call('ACL', 'SETUSER', 'fleet', `>${newSecret}`);
  const after = {
    DATABASE_URL: withLogin(url, next, secret).href,
    REDIS_URL: withLogin(fleet.redis.url, 'fleet', newSecret).href,
  };
  for (const index of dispatchers.keys()) {
    const old = dispatchers[index];
    dispatchers[index] = null;
    await old?.stop();
    sessions.push(await open());
    dispatchers[index] = await fleet.startDispatcher(after);
    await balancer.hasSeenAll();
  }

  // the old ones go, and nobody misses them
  await admin.query(`ALTER ROLE ${owner} NOLOGIN`);
  const left = async (): Promise<number> => {
    const { rows } = await admin.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM pg_stat_activity WHERE usename = $1',
      [owner],
    );
    return rows[0]?.count ?? assert.fail();
  };
  await within(10_000, 'nobody is logged in as the old one', async () => (await left()) === 0);
  await keeper.call('ACL', 'SETUSER', 'fleet', `<${oldSecret}`);
  await assert.rejects(
    fleet.startDispatcher({ ...after, DATABASE_URL: before.DATABASE_URL }),
    /\(28000\).*DATABASE_URL/,
  );
  await assert.rejects(fleet.startDispatcher({ ...after, REDIS_URL: before.REDIS_URL }), /REDIS_URL/);
  sessions.push(await open());
  dispatchers.push(await fleet.startDispatcher(after));

  // what migrations will make belongs to the same one as before
  const record = new Client({ connectionString: after.DATABASE_URL });
  await record.connect();
  parts.defer(() => record.end());
  assert.deepEqual((await record.query('SELECT current_user AS name')).rows, [{ name: owner }]);
  const placed = async () =>
    (
      await record.query<{ attempt: number; losses: number; server_id: string | null }>(
        'SELECT attempt, losses, server_id FROM sessions WHERE id = ANY($1)',
        [sessions],
      )
    ).rows;
  await within(20_000, 'all are placed', async () => (await placed()).every(({ attempt }) => attempt > 0));
  assert.deepEqual(
    (await placed()).map(({ attempt, losses, server_id: server }) => [attempt, losses, server]),
    sessions.map(() => [1, 0, 'alpha']),
  );
  const { asked, unanswered } = await balancer.end();
  assert.ok(asked > 20);
  assert.equal(unanswered, 0);
});
