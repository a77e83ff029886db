import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Transaction } from '../../application/ports/transaction.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { createDatabase } from './database.ts';
import type { PostgresDatabase } from './database.ts';
import { mapError } from './postgres-fault.ts';

let record: TestRecord;
let database: PostgresDatabase;
before(async () => {
  record = await createTestRecord();
  database = createDatabase({
    url: record.url,
    connections: 4,
    statementTimeoutMs: 300,
    onConnectionError: () => undefined,
  });
});
after(async () => {
  await database.close();
  await record.close();
});

/** What a call met, as `code state`. */
async function faultOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'nothing',
    (error: unknown) =>
      isCodedError(error) ? `${error.code} ${String(error.details['state'] ?? '')}`.trim() : String(error),
  );
}

const lock = (tx: Transaction, name: string) =>
  tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [name]);

test('a statement that Postgres gave up may be asked again, and what is wrong with one may not', async () => {
  assert.equal(await faultOf(database.query('SELECT pg_sleep(5)')), 'unavailable 57014');
  assert.equal(
    await faultOf(database.transaction((tx) => tx.query('SELECT pg_sleep(5)'))),
    'unavailable 57014',
  );
  assert.match(await faultOf(database.query('SELECT 1 / 0')), /division by zero/);
  // The connections are as good as before.
  assert.equal((await database.query('SELECT 1 AS one')).length, 1);
});

test('a statement that travels with the commit fails it with its own error, and is nobody’s unhandled one', async () => {
  const unawaited = (text: string): Promise<string> =>
    faultOf(
      database.transaction(async (tx) => {
        await tx.query('SELECT 1');
        void tx.query(text);
      }),
    );
  assert.match(await unawaited('SELECT 1 / 0'), /division by zero/);
  assert.equal(await unawaited('SELECT pg_sleep(5)'), 'unavailable 57014');
  assert.equal(await unawaited('SELECT 2'), 'nothing');
});

test('a statement behind one that nobody awaited says why that one failed, not that it did', async () => {
  const behind = (text: string): Promise<string> =>
    faultOf(
      database.transaction(async (tx) => {
        void tx.query(text).catch(() => undefined);
        await tx.query('SELECT 1');
      }),
    );
  assert.equal(await behind('SELECT pg_sleep(5)'), 'unavailable 57014');
  assert.match(await behind('SELECT 1 / 0'), /division by zero/);
  assert.equal(await behind('SELECT 2'), 'nothing');
});

test('of two transactions that wait for each other one may be asked again', async () => {
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const one = (own: 0 | 1) =>
    record.database.transaction(async (tx) => {
      await lock(tx, `ring-${own}`);
      both[own].resolve();
      await Promise.all(both.map(({ promise }) => promise));
      await lock(tx, `ring-${1 - own}`);
    });
  const met = await Promise.all([faultOf(one(0)), faultOf(one(1))]);
  assert.deepEqual(met.toSorted(), ['nothing', 'unavailable 40P01']);
});

test('a lock that is held, and a connection that leads to a standby', async () => {
  await record.database.transaction(async (tx) => {
    await lock(tx, 'held');
    const impatient = database.transaction(async (other) => {
      await other.query("SET LOCAL lock_timeout = '50ms'");
      await lock(other, 'held');
    });
    assert.equal(await faultOf(impatient), 'unavailable 55P03');
  });
  const onlyReading = database.transaction(async (tx) => {
    await tx.query('SET TRANSACTION READ ONLY');
    await tx.query('DELETE FROM outbox');
  });
  // Given up with its connection: the next one may lead to the primary.
  assert.equal(await faultOf(onlyReading), 'service_unreachable');
});

test('a pool that is being closed with its dispatcher is a service that is away', async () => {
  const closing = createDatabase({
    url: record.url,
    connections: 1,
    statementTimeoutMs: 300,
    onConnectionError: () => undefined,
  });
  await closing.close();
  assert.equal(await faultOf(closing.query('SELECT 1')), 'service_unreachable');
});

test('states that Postgres cannot be brought to here', () => {
  const url = new URL('postgres://someone:SECRETword@db.example:6543/record');
  const codeOf = (state: string): unknown => {
    const mapped = mapError(Object.assign(new Error('SECRETword'), { code: state }), url);
    assert.doesNotMatch(isCodedError(mapped) ? mapped.message : '', /SECRETword/);
    return isCodedError(mapped) ? mapped.code : mapped instanceof Error && 'ours';
  };
  for (const state of [
    '08006',
    '08P01',
    '25P03',
    '28000',
    '3D000',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '57P05',
  ])
    assert.equal(codeOf(state), 'service_unreachable', state);
  for (const state of ['40001', '53100', '53200', '55006', '58030'])
    assert.equal(codeOf(state), 'unavailable', state);
  for (const state of ['23505', '42P01', '25P02', '22P02']) assert.equal(codeOf(state), 'ours', state);
});
