import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { Sink } from '../../application/ports/sink.ts';
import { resendBatch } from '../../application/resend-range.ts';
import { resumeSink, shipBatch } from '../../application/ship-to-sink.ts';
import { createLogDatabase, executed, noDatabase, opened } from '../../testing/database.ts';
import type { LogDatabase } from '../../testing/database.ts';
import { createLogStore } from './log-store.ts';
import type { Query } from './log-store.ts';
import { createSealStore } from './seal-store.ts';

let database: LogDatabase;
if (noDatabase === false) {
  before(async () => {
    database = await createLogDatabase();
  });
  after(() => database.drop());
}

/** On the exporter's rights, but without its lock. */
const query: Query = async <Row>(text: string, values: readonly unknown[] = []) => {
  const client = await database.owner.connect();
  try {
    await client.query('SET ROLE lemniscate_exporter');
    return (await client.query(text, [...values])).rows as Row[];
  } finally {
    await client.query('RESET ROLE');
    client.release();
  }
};
const createStore = () => createLogStore(query);
const createSeals = () => createSealStore(query, () => new Date());

async function order(): Promise<{ index: number; chain: string; seq: number }[]> {
  const { rows } = await database.owner.query<{ index: string; chain: string; seq: string }>(
    'SELECT * FROM audit_log ORDER BY index',
  );
  return rows.map(({ index, chain, seq }) => ({ index: Number(index), chain, seq: Number(seq) }));
}

test('what commits late gets its index late, and none is skipped', { skip: noDatabase }, async () => {
  const store = createStore();
  const late = new Client({ connectionString: database.url });
  await late.connect();
  const [entry] = extendChain(unopened(sessionChain('s_late')), [opened], new Date().toISOString()).entries;
  assert.ok(entry !== undefined);
  await late.query('BEGIN');
  await late.query('INSERT INTO audit_entries VALUES ($1, $2, $3, $4, $5, $6, $7)', [
    entry.chain,
    entry.seq,
    entry.prev,
    entry.digest,
    entry.body,
    entry.type,
    entry.at,
  ]);
  await database.append(sessionChain('s_early'), [opened, executed(1)]);
  assert.equal(await store.order(100), 2);
  assert.equal(await store.order(100), 0);
  await late.query('COMMIT');
  await late.end();
  assert.equal(await store.order(100), 1);
  assert.deepEqual(await order(), [
    { index: 0, chain: 'session:s_early', seq: 1 },
    { index: 1, chain: 'session:s_early', seq: 2 },
    { index: 2, chain: 'session:s_late', seq: 1 },
  ]);
});

test(
  'batches that cut through a chain keep its order, and exporters without a lock give no index twice',
  { skip: noDatabase },
  async () => {
    const stores = Array.from({ length: 4 }, createStore);
    const sessions = Array.from({ length: 10 }, (_, number) => sessionChain(`s_cut_${number}`));
    await Promise.all(
      sessions.map(async (chain) => {
        await database.append(chain, [opened, executed(1), executed(2), executed(3), executed(4)]);
        for (let call = 5; call < 15; call += 1) await database.append(chain, [executed(call)]);
      }),
    );
    // the loser of a race meets the primary key, and would come again
    const racing = async (store: (typeof stores)[number]): Promise<void> => {
      for (let idle = 0; idle < 3;)
        idle =
          (await store
            .order(7)
            .catch((error: { code: string }) => assert.equal(error.code, '23505') ?? 1)) === 0
            ? idle + 1
            : 0;
    };
    await Promise.all(stores.map(racing));
    const log = await order();
    assert.equal(log.length, 3 + 10 * 15);
    for (const [place, { index }] of log.entries()) assert.equal(index, place);
    for (const chain of sessions)
      assert.deepEqual(
        log.filter((entry) => entry.chain === chain).map(({ seq }) => seq),
        Array.from({ length: 15 }, (_, place) => place + 1),
      );
  },
);

test(
  'pages are bounded in entries and bytes, and a cursor moves forward only',
  { skip: noDatabase },
  async () => {
    const store = createStore();
    assert.equal((await store.read(0, 5, 1e9)).length, 5);
    assert.equal((await store.read(0, 100, 1)).length, 1);
    assert.equal((await store.read(150, 100, 1e9)).length, 3);
    assert.deepEqual(await store.read(1_000, 100, 1e9), []);
    assert.equal(await store.cursor('test:one'), 0);
    await store.advance('test:one', 12);
    await store.advance('test:one', 7);
    assert.equal(await store.cursor('test:one'), 12);
    assert.equal(await store.cursor('test:now', 'now'), 153);
    assert.equal(await store.cursor('test:anchor', 40), 40);
    assert.equal(await store.cursor('test:anchor', 'now'), 40);
  },
);

test(
  'an entry that is gone from the database stops the shipping and is named',
  { skip: noDatabase },
  async () => {
    const store = createStore();
    const delivered: number[] = [];
    const sink = {
      name: 'test:gone',
      open: async () => null,
      deliver: async (batch: readonly { index: number }[]) => {
        delivered.push(...batch.map(({ index }) => index));
        return [];
      },
      anchor: async () => undefined,
      close: async () => undefined,
    };
    await database.owner.query('ALTER TABLE audit_entries DISABLE TRIGGER append_only');
    await database.owner.query(
      'DELETE FROM audit_entries WHERE (chain, seq) = (SELECT chain, seq FROM audit_log WHERE index = 5)',
    );
    await database.owner.query('ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER append_only');
    const from = await resumeSink({ store, seals: createSeals() }, sink);
    await assert.rejects(shipBatch({ store, seals: createSeals() }, sink, from), {
      code: 'audit_chain_broken',
      details: { index: 5 },
    });
    assert.deepEqual(delivered, []);
  },
);

test(
  'what a receiver refuses for good is set aside once, told in the log, and the rest goes on',
  { skip: noDatabase },
  async () => {
    const [store, seals] = [createStore(), createSeals()];
    const sink = {
      name: 'test:poison',
      open: async () => null,
      deliver: async (batch: readonly { index: number; entry: { type: string } }[]) =>
        batch
          .filter(({ index, entry }) => index === 2 || entry.type === 'log.undeliverable')
          .map(({ index }) => ({ index, reason: 'mapper_parsing_exception' })),
      anchor: async () => undefined,
      close: async () => undefined,
    };
    const ship = async (): Promise<number> => {
      let [from, next] = [-1, 0];
      // the entry at 5 was taken away by the test before
      while (next !== from && next < 5) [from, next] = [next, Math.min(5, await shipSome(next))];
      return next;
    };
    const shipSome = (from: number): Promise<number> =>
      shipBatch(
        { store: { ...store, read: (at, _, bytes) => store.read(at, 5 - at, bytes) }, seals },
        sink,
        from,
      );
    await ship();
    await ship();
    const { rows } = await database.owner.query('SELECT sink, index, reason FROM audit_dead_letters');
    assert.deepEqual(rows, [{ sink: 'test:poison', index: '2', reason: 'mapper_parsing_exception' }]);
    const told = await database.owner.query<{ body: Buffer }>(
      `SELECT body FROM audit_entries WHERE type = 'log.undeliverable'`,
    );
    assert.equal(told.rows.length, 1);
    assert.match(told.rows[0]?.body.toString() ?? '', /"entry":"session:s_late:1:[0-9a-f]{16}"/);
  },
);

test(
  'what a receiver keeps in part is set aside as a range, and told with how many are not there',
  { skip: noDatabase },
  async () => {
    const [store, seals] = [createStore(), createSeals()];
    const handed: (readonly [entries: number, handing: string | undefined])[] = [];
    const sink: Sink = {
      name: 'test:some',
      tellsWhich: false,
      open: () => Promise.resolve(null),
      deliver: (batch, _, handing) => {
        handed.push([batch.length, handing]);
        const [first, last] = [batch[0], batch.at(-1)];
        if (first === undefined || last === undefined || handing === 'singly') return Promise.resolve([]);
        return Promise.resolve([
          { index: first.index, reason: 'rejected_some', among: { last: last.index, refused: 2 } },
        ]);
      },
      anchor: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    const upTo = { ...store, read: (at: number, _: number, bytes: number) => store.read(at, 4 - at, bytes) };
    assert.equal(await shipBatch({ store: upTo, seals }, sink, 0), 4);
    const { rows } = await database.owner.query(
      `SELECT index, reason FROM audit_dead_letters WHERE sink = 'test:some'`,
    );
    assert.deepEqual(rows, [{ index: '0', reason: 'rejected_some:2_of_4' }]);
    const told = await database.owner.query<{ body: Buffer }>(
      `SELECT body FROM audit_entries WHERE type = 'log.undeliverable' ORDER BY seq DESC LIMIT 1`,
    );
    assert.match(
      told.rows[0]?.body.toString() ?? '',
      /"entry":"[^"]+","firstIndex":0,"lastIndex":3,"reason":"rejected_some","refused":2,"sink":"test:some","through":"[^"]+"/,
    );
    // a person wants the range again: each goes by itself
    await database.owner.query(
      `INSERT INTO audit_resends (id, sink, from_index, to_index, next_index) VALUES ('r', 'test:some', 0, 4, 0)`,
    );
    assert.equal(await resendBatch({ store, seals }, sink), true);
    assert.deepEqual(handed, [
      [4, 'together'],
      [4, 'singly'],
    ]);
  },
);

test('the exporter’s rights do not reach the entries', { skip: noDatabase }, async () => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('SET ROLE lemniscate_exporter');
  for (const statement of [
    `INSERT INTO audit_entries VALUES ('x', 1, '', sha256(''), '', 'x', now())`,
    `UPDATE audit_entries SET body = ''`,
    'DELETE FROM audit_entries',
    'UPDATE audit_log SET seq = 1',
    'DELETE FROM audit_log',
    'UPDATE audit_chains SET closed = true',
    'SELECT * FROM audit_keys',
    'SELECT * FROM sessions',
  ])
    await assert.rejects(client.query(statement), { code: '42501' }, statement);
  await client.end();
});
