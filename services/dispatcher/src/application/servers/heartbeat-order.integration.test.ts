import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import type { Transaction } from '../ports/transaction.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { within } from '../../testing/within.ts';
import { renewLeases } from './take-heartbeat.ts';

let record: TestRecord;
/** The application itself may not see what others run. */
let owner: Client;
before(async () => {
  record = await createTestRecord();
  owner = new Client({ connectionString: record.url.href });
  await owner.connect();
});
after(async () => {
  await owner.end();
  await record.close();
});

const lock = (tx: Transaction, sessionId: string, how = '') =>
  tx.query(`SELECT FROM attempts WHERE session_id = $1 FOR UPDATE ${how}`, [sessionId]);

test('a heartbeat locks attempts in one order, whatever order its server lists them in', async () => {
  const ids = [await openTestSession(record), await openTestSession(record)]
    .map(({ sessionId }) => sessionId)
    .toSorted();
  const [low = '', high = ''] = ids;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
  const holder = record.database.transaction(async (tx) => {
    await lock(tx, low);
    locked();
    await released;
  });
  await isLocked;
  const held = [high, low].map((sessionId) => ({ sessionId, attempt: 1 }));
  const renewing = renewLeases({ database: record.database, leaseMs: 15_000 }, 'server-a', {
    held,
    bootId: 'boot-1',
  });
  try {
    await within(30_000, 'the heartbeat waits for the first one', async () => {
      const { rows } = await owner.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND query LIKE '%lease_expires_at = now()%'`,
      );
      return rows.length > 0;
    });
    // Were it locked already, whoever holds the first and wants this one would wait in a ring with the heartbeat.
    await record.database.transaction((tx) => lock(tx, high, 'NOWAIT'));
    await assert.rejects(
      record.database.transaction((tx) => lock(tx, low, 'NOWAIT')),
      /55P03/,
    );
  } finally {
    release();
  }
  await holder;
  assert.equal((await renewing).length, 2);
});
