import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { storedCheckpoint } from '../../testing/traffic/checkpoint.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { objectKey } from '../ports/object-store.ts';
import { removeObjects } from '../retention/object-removals.ts';
import { forgetSuperseded } from './forget-superseded.ts';
import { takeCheckpoint } from './take-checkpoint.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const numbersOf = async (session: string): Promise<number[]> => {
  const rows = await record.database.query<{ number: number }>(
    'SELECT number FROM checkpoints WHERE session_id = $1 ORDER BY number',
    [session],
  );
  return rows.map(({ number }) => number);
};

test('what no session can resume from any more goes with its objects; the one in force, and what is held, stays', async () => {
  const deps = { ...record, settleUsage: () => Promise.resolve() };
  const open = async () => {
    const claim = await openTestSession(record);
    const taken = [];
    for (let count = 0; count < 3; count += 1) {
      const given = await storedCheckpoint(record, claim, 'interval');
      await record.objects.put(objectKey('local', given.archive.sha256), Buffer.from(`archive ${count}`));
      await takeCheckpoint(deps, claim, given);
      taken.push(given.archive.sha256);
    }
    return { session: claim.sessionId, taken };
  };
  const { session, taken } = await open();
  const held = await open();
  await record.database.query(
    `INSERT INTO legal_holds (id, scope, of_id, placed_by) VALUES ('hold_1', 'session', $1, 'ada')`,
    [held.session],
  );
  assert.equal(await forgetSuperseded(record), 0, 'a server may still read the former one');
  // as the record's owner: the service itself cannot change a checkpoint
  const owner = new Client({ connectionString: record.url.href });
  await owner.connect();
  await owner.query(`UPDATE checkpoints SET created_at = created_at - interval '2 hours'`);
  await owner.end();
  assert.equal(await forgetSuperseded(record), 2);
  assert.equal(await forgetSuperseded(record), 0);
  assert.deepEqual(await numbersOf(session), [3]);
  assert.deepEqual(await numbersOf(held.session), [1, 2, 3]);
  await removeObjects(record);
  const sizes = [];
  for (const sha256 of [...taken, ...held.taken])
    sizes.push(await record.objects.size(objectKey('local', sha256)));
  assert.deepEqual(sizes, [null, null, 9, 9, 9, 9]);
});
