import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries } from '../../testing/traffic/session.ts';
import type { Person } from '../identity.ts';
import { listResends, requestResend } from './resends.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

/** As the exporter and the owner write, which the application may not. */
async function asOwner(text: string, values: readonly unknown[] = []): Promise<void> {
  const client = new Client({ connectionString: record.url.href });
  await client.connect();
  try {
    await client.query(text, [...values]);
  } finally {
    await client.end();
  }
}

const ann: Person = { subject: 'ann@example.org', name: 'Ann', kind: 'human' };
const sink = 'ocsf:https://siem.example.org';
const request = (from: number, to: number, of = sink): Promise<string> =>
  requestResend(record, ann, { sink: of, from, to });

test('a range is asked for once it is part of the log and the receiver is known, and the log says by whom', async () => {
  await assert.rejects(request(0, 1), { code: 'not_found' });
  await asOwner('INSERT INTO audit_sinks (name, next_index) VALUES ($1, 10)', [sink]);
  await asOwner(
    `INSERT INTO audit_log (index, chain, seq) SELECT place, 'session:s_told', place + 1 FROM generate_series(0, 9) AS place`,
  );
  for (const [from, to] of [
    [5, 5],
    [6, 5],
    [0, 11],
  ] as const)
    await assert.rejects(request(from, to), { code: 'request_invalid' });
  const id = await request(2, 10);
  const { resends } = await listResends(record.database);
  assert.deepEqual(
    resends.map(({ requestedAt: _requestedAt, ...rest }) => rest),
    [{ id, sink, from: 2, to: 10, next: 2, doneAt: null, refused: null }],
  );
  const told = (await chainEntries(record, fleetChain)).filter(({ type }) => type === 'admin.acted');
  assert.deepEqual(
    told.map(({ body }) => body),
    [{ act: 'audit.resend', target: sink, from: '2', to: '10' }],
  );
});

test('whoever asks without end is told to wait', async () => {
  for (let asked = 1; asked < 20; asked += 1) await request(0, 1);
  await assert.rejects(request(0, 1), { code: 'conflict' });
});
