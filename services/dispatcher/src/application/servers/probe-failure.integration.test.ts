import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { noteProbeFailure } from './probe-servers.ts';
import { findServer, usableCapacity } from './server-row.ts';

const url = 'https://a:1';
let record: TestRecord;
before(async () => {
  record = await createTestRecord();
  await record.database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity, status, seen_at)
     VALUES ('a', $1, 'default', 4, '{"protocol": 1, "draining": false, "capacity": 4}', now())`,
    [url],
  );
});
after(() => record.close());

test('a dispatcher that was late itself takes no server out, and one that was there does', async () => {
  const withdrawn: string[] = [];
  const deps = {
    database: record.database,
    reservations: {
      withdraw: async (serverId: string) => {
        withdrawn.push(serverId);
      },
    },
  };
  const fail = (isOurs: boolean) =>
    noteProbeFailure(
      deps,
      url,
      new CodedError('service_unreachable', 'cut', {
        how: 'no answer in time',
        ...(isOurs ? { isOurs } : {}),
      }),
    );
  const usable = async () => {
    const row = await findServer(record.database, 'a');
    return row === null ? null : usableCapacity(row);
  };
  for (let looks = 0; looks < 5; looks += 1) await fail(true);
  assert.deepEqual([await usable(), withdrawn], [4, []]);
  await fail(false);
  assert.deepEqual([await usable(), withdrawn], [4, []], 'one answer may be lost');
  await fail(false);
  assert.deepEqual([await usable(), withdrawn], [0, ['a']]);
});
