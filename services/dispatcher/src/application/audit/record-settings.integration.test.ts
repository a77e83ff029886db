import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries } from '../../testing/traffic/session.ts';
import { recordSettings } from './record-settings.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

test('a start with other settings is an entry that names them; secrets appear nowhere', async () => {
  const record_ = (entries: [string, string][]) => recordSettings(record, new Map(entries));
  await record_([
    ['KEY', 'sk-planted-secret'],
    ['LEASE', '15000'],
  ]);
  const [, first] = await chainEntries(record, fleetChain);
  assert.deepEqual(first?.body, {
    service: record.self,
    changed: ['KEY', 'LEASE'],
    told: { LEASE: '15000' },
    first: true,
  });
  const same = [
    ['KEY', 'sk-planted-secret'],
    ['LEASE', '15000'],
  ] satisfies [string, string][];
  assert.deepEqual(await record_(same), []);
  const twice = await Promise.all([1, 2].map(() => record_([['KEY', 'sk-planted-other']])));
  assert.deepEqual(twice.flat(), ['KEY', 'LEASE']);
  const entries = await chainEntries(record, fleetChain);
  assert.deepEqual(
    entries.slice(2).map(({ type, body }) => [type, body['changed'], body['told']]),
    [['config.changed', ['KEY', 'LEASE'], {}]],
  );
  const rows = await record.database.query('SELECT * FROM service_settings');
  assert.equal(rows.length, 1);
  assert.doesNotMatch(JSON.stringify([rows, entries]), /planted/);
});
