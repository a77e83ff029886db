import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { createTestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import type { Transaction } from '../ports/transaction.ts';
import { createBacklogWalk } from '../recovery/requeue-forgotten.ts';
import { isAnyWaiting } from './known-classes.ts';

test('looks beside a long backlog are planned by index, of whatever class it is', async (t) => {
  const record = await createTestRecord();
  const parts = new AsyncDisposableStack();
  t.after(() => parts.disposeAsync());
  parts.defer(() => record.close());
  const owner = new Client({ connectionString: record.url.href });
  await owner.connect();
  parts.defer(() => owner.end());
  const { sessionId } = await openTestSession(record);
  await owner.query(
    `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
       execution, opened_by, policy, policy_digest)
     SELECT 's_waiting' || n, project_id, 'pending', 'queued', instruction, repository, runtime, model, surface,
       interactive, execution, opened_by, policy, policy_digest
     FROM generate_series(1, 20000) AS n, (SELECT * FROM sessions WHERE id = $1) template`,
    [sessionId],
  );
  await owner.query(
    `INSERT INTO outbox (session_id, generation) SELECT id, 1 FROM sessions WHERE state = 'pending'`,
  );
  await owner.query('ANALYZE outbox, sessions');
  const plans: string[] = [];
  /** Has each statement planned for all values, and answers that there is nothing. */
  const planning: Transaction = {
    query: async (text) => {
      if (text.includes('set_config')) await owner.query(text);
      else {
        const rows = await owner.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
        plans.push(rows.rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      return [];
    },
  };
  await planning.query('SELECT 1 FROM outbox WHERE placement_class = $1 LIMIT 1');
  assert.match(plans.pop() ?? '', /Seq Scan on outbox/, 'what this test is to find can be found');
  await isAnyWaiting(planning, 'pinned');
  assert.match(plans.pop() ?? '', /Index (Only )?Scan using outbox_turns/);

  await owner.query('BEGIN');
  const walk = createBacklogWalk({
    database: { ...planning, transaction: (work) => work(planning) },
    queue: {
      add: () => Promise.reject(new Error('nothing was found')),
      missing: async () => [],
      waiting: async () => 0,
    },
    signals: record.signals,
  });
  await walk();
  await owner.query('ROLLBACK');
  const [plan] = plans;
  assert.match(plan ?? '', /outbox_sessions/);
  assert.doesNotMatch(plan ?? '', /hashed|Seq Scan/);
});
