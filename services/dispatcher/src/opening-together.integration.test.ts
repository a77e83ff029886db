import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

type Answer = SessionView & { readonly code?: string };

let fleet: TestFleet;
let dispatcher: TestDispatcher;
before(async () => {
  fleet = await createTestFleet({ servers: [{ name: 'one', capacity: 300 }] });
  dispatcher = await fleet.startDispatcher();
  await fleet.sql(
    `INSERT INTO projects (id, policy, policy_digest)
     SELECT name, policy, policy_digest FROM projects, unnest(ARRAY['narrow', 'crowd']) AS name WHERE id = 'local'`,
  );
});
after(() => fleet.remove());

const open = (key: string, more: object = {}) =>
  dispatcher.call<Answer>(
    'POST',
    '/v1/sessions',
    { ...ordinaryRequest, ...more },
    { 'idempotency-key': key },
  );

describe('sessions that are opened in the same moment', { concurrency: false }, () => {
  test('share transactions, and each is whole', async () => {
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, at) => open(`same-${at}`, { instruction: `number ${at}` })),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
    const ids = answers.map(({ body }) => body.id);
    assert.equal(new Set(ids).size, 120);
    for (const [at, { body }] of answers.entries()) assert.equal(body.instruction, `number ${at}`);
    const [row] = await fleet.sql<{ transactions: number; keys: number }>(
      `SELECT count(DISTINCT xmin::text)::int AS transactions, count(*)::int AS keys FROM idempotency_keys
       WHERE session_id = ANY ($1)`,
      [ids],
    );
    assert.equal(row?.keys, 120);
    assert.ok((row?.transactions ?? 120) < 60, `${row?.transactions} transactions for 120 sessions`);

    await within(30_000, 'all of them have been placed', async () => {
      const [placed] = await fleet.sql<{ count: number }>(
        `SELECT count(*)::int FROM attempts WHERE session_id = ANY ($1) AND attempt = 1 AND state = 'live'`,
        [ids],
      );
      return placed?.count === 120;
    });
    // Each has its own chain from its opening on, its own events without a hole, and one attempt.
    const [whole] = await fleet.sql<{ chains: number; dense: number; started: number }>(
      `SELECT
         (SELECT count(*)::int FROM audit_entries e WHERE e.chain = 'session:' || s.id AND seq = 1
            AND type = 'session.opened') AS chains,
         (SELECT (min(position) = 1 AND max(position) = count(*))::int FROM session_events e
            WHERE e.session_id = s.id) AS dense,
         (SELECT count(*)::int FROM audit_entries e WHERE e.chain = 'session:' || s.id
            AND type = 'attempt.started') AS started,
         count(*) AS of
       FROM sessions s WHERE id = ANY ($1) GROUP BY s.id ORDER BY 1, 2, 3 LIMIT 1`,
      [ids],
    );
    assert.deepEqual({ ...whole, of: 1 }, { chains: 1, dense: 1, started: 1, of: 1 });
  });

  test('twins under one key are one session, also within one transaction', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => open(`twin-${at % 10}`)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
    const byKey = Map.groupBy(answers.entries(), ([at]) => at % 10);
    for (const same of byKey.values()) assert.equal(new Set(same.map(([, { body }]) => body.id)).size, 1);
    const other = await open('twin-3', { instruction: 'something else' });
    assert.equal(other.body.code, 'idempotency_mismatch');
  });

  test('a project’s bound holds exactly, and stops nobody else', async () => {
    await fleet.sql(`UPDATE projects SET max_backlog = 20 WHERE id = 'narrow'`);
    await fleet.sql(`INSERT INTO intake_pauses (scope, paused_by) VALUES ('project:narrow', 'test')`);
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, at) =>
        open(`bound-${at}`, { project: at % 2 === 0 ? 'narrow' : 'crowd' }),
      ),
    );
    const narrow = answers.filter((_, at) => at % 2 === 0);
    assert.equal(narrow.filter(({ status }) => status === 202).length, 20);
    assert.equal(narrow.filter(({ body }) => body.code === 'backlog_full').length, 20);
    assert.ok(answers.every(({ status }, at) => at % 2 === 0 || status === 202));
  });

  test('each has the policy of its project in its order, a changed one from its change on', async () => {
    await fleet.sql(
      `INSERT INTO projects (id, policy, policy_digest)
       SELECT 'hasty', jsonb_set(policy, '{commandMaxSeconds}', '7'), $1 FROM projects WHERE id = 'local'`,
      ['7'.repeat(64)],
    );
    const ordered = async (round: string): Promise<Record<string, readonly number[]>> => {
      const answers = await Promise.all(
        Array.from({ length: 24 }, async (_, at) =>
          open(`policy-${round}-${at}`, { project: at % 2 === 0 ? 'hasty' : 'local' }),
        ),
      );
      for (const { status, body } of answers) assert.equal(status, 202, JSON.stringify(body));
      const ids = answers.map(({ body }) => body.id);
      const orders = () =>
        (fleet.servers[0]?.orders ?? [])
          .map(({ order }) => order)
          .filter((order) => ids.includes(order.sessionId));
      await within(30_000, 'all of them have been ordered', () => orders().length === ids.length);
      const byProject = Map.groupBy(orders(), ({ projectId }) => projectId);
      return Object.fromEntries(
        [...byProject].map(([project, own]) => [
          project,
          [...new Set(own.map(({ commandMaxSeconds }) => commandMaxSeconds))],
        ]),
      );
    };
    const [usual] = await fleet.sql<{ seconds: number }>(
      `SELECT (policy -> 'commandMaxSeconds')::int AS seconds FROM projects WHERE id = 'local'`,
    );
    assert.notEqual(usual?.seconds, 7);
    assert.deepEqual(await ordered('first'), { hasty: [7], local: [usual?.seconds] });
    await fleet.sql(
      `UPDATE projects SET policy = jsonb_set(policy, '{commandMaxSeconds}', '8'), policy_digest = $1 WHERE id = 'hasty'`,
      ['8'.repeat(64)],
    );
    assert.deepEqual(await ordered('second'), { hasty: [8], local: [usual?.seconds] });
  });

  test('the answer shows a session that waits as the list shows it', async () => {
    await fleet.sql(`INSERT INTO intake_pauses (scope, paused_by) VALUES ('project:hasty', 'test')`);
    const { body: answered } = await open('shown', { project: 'hasty', bounds: { maxMinutes: 3 } });
    const { body: read } = await dispatcher.call<Answer>('GET', `/v1/sessions/${answered.id}`);
    assert.equal(answered.attempt, 0);
    assert.equal(answered.queue?.paused, 'project');
    assert.deepEqual(answered, read);
  });

  test('what stands against one of them stops that one alone', async () => {
    const answers = await Promise.all([
      open('sound-1'),
      open('unknown-project', { project: 'nowhere' }),
      open('unknown-agent', { agent: 'nobody' }),
      open('sound-2', { server: 'no-such-server' }),
      open('sound-3', {
        repository: { kind: 'bundle', sha256: 'a'.repeat(64), commit: 'b'.repeat(40), name: 'r' },
      }),
      open('sound-4'),
    ]);
    assert.equal(answers[0]?.status, 202);
    assert.equal(answers[5]?.status, 202);
    for (const refused of answers.slice(1, 5))
      assert.ok(refused.status >= 400 && refused.status < 500, JSON.stringify(refused.body));
  });
});
