import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import type { ConfiguredServer } from './configured-server.ts';
import { createServerLists, inShare, inShareSql, namedForMs } from './server-lists.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());
beforeEach(() => record.database.query('DELETE FROM agent_server_lists'));

const server = (name: string, pool = 'default'): ConfiguredServer => ({
  url: `https://${name}:1`,
  pool,
  capacity: null,
});
const told = () => undefined;
const log = { debug: told, info: told, warn: told, error: told };

function dispatcher(gatewayId: string, first: readonly ConfiguredServer[]) {
  const state = { servers: first, ms: 0 };
  const lists = createServerLists({
    database: record.database,
    clock: { now: () => new Date(), monotonicMs: () => state.ms },
    log,
    gatewayId,
    configured: () => Promise.resolve(state.servers),
  });
  return { state, lists };
}

const namesOf = async (one: ReturnType<typeof dispatcher>): Promise<string[]> =>
  [...(await one.lists.look()).byUrl.keys()].sort();

const grow = (id: string): Promise<unknown> =>
  record.database.query(
    `UPDATE agent_server_lists SET named_at = named_at - $2 * interval '1 millisecond' WHERE dispatcher = $1`,
    [id, namedForMs],
  );

test('what any of them names is named; the silent and those that left name nothing', async () => {
  const [one, two] = [dispatcher('one', [server('a'), server('b')]), dispatcher('two', [server('b')])];
  await one.lists.look();
  assert.deepEqual(await namesOf(two), ['https://a:1', 'https://b:1']);
  await grow('one');
  assert.deepEqual(await namesOf(two), ['https://b:1']);
  assert.deepEqual(await namesOf(one), ['https://a:1', 'https://b:1']);
  await one.lists.leave();
  assert.deepEqual(await namesOf(two), ['https://b:1']);
  await one.lists.look();
  assert.deepEqual(await namesOf(two), ['https://b:1'], 'one that has left says no more');
});

test('of two that say different things of an address the one that changed last counts', async () => {
  const [one, two] = [dispatcher('one', [server('a')]), dispatcher('two', [server('a', 'gpu')])];
  await one.lists.look();
  const poolOf = async () => (await two.lists.look()).byUrl.get('https://a:1')?.pool;
  assert.equal(await poolOf(), 'gpu');
  one.state.servers = [server('a', 'big')];
  await one.lists.look();
  assert.equal(await poolOf(), 'big');
  one.state.servers = [server('a')];
  await one.lists.look();
  assert.equal(await poolOf(), 'default');
});

test('behind a gap of its own a process judges nobody until the others have had time to speak', async () => {
  const one = dispatcher('one', [server('a')]);
  const steadyAt = async (ms: number): Promise<boolean> => {
    one.state.ms = ms;
    return (await one.lists.look()).steady;
  };
  assert.deepEqual(
    [await steadyAt(2_000), await steadyAt(4_000), await steadyAt(4_001 + namedForMs)],
    [true, true, false],
  );
  const back = 4_001 + namedForMs;
  assert.deepEqual([await steadyAt(back + 10), await steadyAt(back + namedForMs)], [false, true]);
});

test('each address is one dispatcher’s, about as many each, and Postgres counts the same', async () => {
  const many = ['one', 'two', 'three'].map((id) => dispatcher(id, [server('a')]));
  for (const { lists } of many) await lists.look();
  const shares = await Promise.all(many.map(async ({ lists }) => (await lists.look()).share));
  assert.deepEqual(shares.map(({ index, count }) => `${index}/${count}`).sort(), ['0/3', '1/3', '2/3']);
  const urls = Array.from({ length: 3_000 }, (_, index) => `https://10.0.${index >> 8}.${index & 255}:7420`);
  const counts = await Promise.all(
    shares.map(async (share) => {
      const own = urls.filter((url) => inShare(url, share));
      const rows = await record.database.query<{ url: string }>(
        `SELECT url FROM unnest($3::text[]) AS given (url) WHERE ${inShareSql}`,
        [share.index, share.count, urls],
      );
      assert.deepEqual(
        rows.map(({ url }) => url),
        own,
      );
      return own.length;
    }),
  );
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3_000,
  );
  for (const count of counts) assert.ok(count > 850 && count < 1_150, `${count}`);
});
