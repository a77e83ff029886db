import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { Person } from '../identity.ts';
import { attachClientRun } from './restart-budget.ts';

let record: TestRecord;
before(async () => {
  record = await createTestRecord();
});
after(() => record.close());

const opener: Person = { subject: 'person-1', name: 'Pat', kind: 'human' };
const used = async (sessionId: string): Promise<number> => {
  const [row] = await record.database.query<{ actions_used: number }>(
    'SELECT actions_used FROM sessions WHERE id = $1',
    [sessionId],
  );
  return row?.actions_used ?? -1;
};
const use = (sessionId: string) =>
  record.database.query('UPDATE sessions SET actions_used = 7 WHERE id = $1', [sessionId]);

test('an editor that was restarted starts fresh, on record; the same run, another surface and a failover do not', async () => {
  const { sessionId } = await openTestSession(record, { surface: 'ide' });
  assert.equal(await attachClientRun(record, opener, sessionId, 'editor-run-1'), false);
  await use(sessionId);
  assert.equal(await attachClientRun(record, opener, sessionId, 'editor-run-1'), false);
  await record.database.query('UPDATE sessions SET attempt = attempt + 1 WHERE id = $1', [sessionId]);
  assert.equal(await attachClientRun(record, opener, sessionId, 'editor-run-1'), false);
  assert.equal(await used(sessionId), 7);
  assert.equal(await attachClientRun(record, opener, sessionId, 'editor-run-2'), true);
  assert.equal(await used(sessionId), 0);
  const restarted = (await chainEntries(record, sessionChain(sessionId))).filter(
    ({ type }) => type === 'budget.restarted',
  );
  assert.deepEqual(
    restarted.map(({ subject, body }) => [subject, body['cause'], body['actions']]),
    [['person-1', 'client_restarted', 7]],
  );
  const terminal = await openTestSession(record, { surface: 'terminal' });
  await attachClientRun(record, opener, terminal.sessionId, 'terminal-run-1');
  await use(terminal.sessionId);
  assert.equal(await attachClientRun(record, opener, terminal.sessionId, 'terminal-run-2'), false);
  assert.equal(await used(terminal.sessionId), 7);
});

test('neither a stranger nor a program restarts the counters', async () => {
  const { sessionId } = await openTestSession(record, { surface: 'ide' });
  const attach = (person: Person) => attachClientRun(record, person, sessionId, 'editor-run-1');
  await assert.rejects(attach({ ...opener, subject: 'eve' }), { code: 'forbidden' });
  await assert.rejects(attach({ ...opener, kind: 'automation' }), { code: 'forbidden' });
});
