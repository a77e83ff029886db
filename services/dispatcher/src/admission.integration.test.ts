import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { Client } from 'pg';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { queueDepth } from './application/admission/admit-sessions.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { within } from './testing/within.ts';

const fleets: TestFleet[] = [];
// At once: a fleet that lives on keeps its connections, and works, beside the tests that follow.
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.remove();
});

async function oneServer(capacity: number, extra: Record<string, string> = {}) {
  const fleet = await createTestFleet({ servers: [{ name: 'one', capacity }] });
  fleets.push(fleet);
  const dispatcher = await fleet.startDispatcher(extra);
  const [server] = fleet.servers;
  assert.ok(server);
  await within(30_000, 'the server can be used', async () => {
    const { body } = await dispatcher.call<{ servers: { usable: number }[] }>('GET', '/v1/servers');
    return body.servers.some(({ usable }) => usable === capacity);
  });
  return { fleet, dispatcher, server };
}

async function open(dispatcher: TestDispatcher, project: string, more: object = {}): Promise<SessionView> {
  const { body, status } = await dispatcher.call<SessionView>('POST', '/v1/sessions', {
    ...ordinaryRequest,
    project,
    ...more,
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body;
}

const projects = (fleet: TestFleet, ...names: string[]) =>
  fleet.sql(
    `INSERT INTO projects (id, policy, policy_digest)
     SELECT name, policy, policy_digest FROM projects, unnest($1::text[]) AS name WHERE id = 'local'`,
    [names],
  );

/** Ends what the server holds, one after the other, as fast as it is placed. */
async function finishOne(fleet: TestFleet, server: SimulatedAgentServer): Promise<void> {
  await within(30_000, 'the server holds something', () => server.held.size > 0);
  const [id] = server.held.keys();
  assert.ok(id);
  await fleet.sql(
    `WITH ended AS (UPDATE attempts SET state = 'ended', ended_at = now() WHERE session_id = $1)
     UPDATE sessions SET state = 'completed', phase = 'ended', reason = 'finished', ended_at = now() WHERE id = $1`,
    [id],
  );
  server.drop(id);
  await server.heartbeat();
}

describe('admission', () => {
  test('10,000 waiting sessions of one project delay the next of another by queue and one round at most', async (context) => {
    const { fleet, dispatcher, server } = await oneServer(2);
    await projects(fleet, 'crowd', 'newcomer');
    for (let index = 0; index < 90; index += 1) await open(dispatcher, 'crowd');
    // Those behind the first ninety never get a turn here: only their rows matter.
    await fleet.sql(
      `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
         execution, opened_by, policy, policy_digest)
       SELECT 's_filler' || n, 'crowd', 'pending', 'queued', instruction, repository, runtime, model, surface, interactive,
         execution, opened_by, policy, policy_digest
       FROM generate_series(1, 9910) AS n, (SELECT * FROM sessions WHERE project_id = 'crowd' LIMIT 1) AS template`,
    );
    await fleet.sql(
      `INSERT INTO outbox (session_id, generation) SELECT id, 1 FROM sessions WHERE id LIKE 's_filler%'`,
    );
    const { id } = await open(dispatcher, 'newcomer');
    const before = server.orders.length;
    const waiting = await fleet.session(id);
    assert.ok((waiting.queue?.position ?? 99) <= 2, JSON.stringify(waiting.queue));
    for (
      let turn = 0;
      turn < queueDepth + 10 && !server.orders.some(({ order }) => order.sessionId === id);
      turn += 1
    ) {
      const seen = server.orders.length;
      await finishOne(fleet, server);
      await within(30_000, 'the next is placed', () => server.orders.length > seen);
    }
    const at = server.orders.findIndex(({ order }) => order.sessionId === id);
    assert.ok(at >= 0, 'the newcomer was placed');
    context.diagnostic(`sessions of the crowd that were placed before it: ${at - before}`);
    // The queue holds reserved jobs only, two slots here; one round is one session of each other project.
    assert.ok(at - before <= 2 + 1, `${at - before} were placed before it`);
    const last = await fleet.session('s_filler9910');
    assert.ok((last.queue?.position ?? 0) > 1_900, JSON.stringify(last.queue));
  });

  test('a project’s cap holds while slots are free, and what is beyond it waits', async () => {
    const { fleet, dispatcher, server } = await oneServer(10);
    await projects(fleet, 'capped');
    await fleet.sql(`UPDATE projects SET max_concurrent = 3 WHERE id = 'capped'`);
    for (let index = 0; index < 6; index += 1) await open(dispatcher, 'capped');
    await within(30_000, 'three are placed', () => server.held.size === 3);
    const { id } = await open(dispatcher, 'local');
    await within(30_000, 'another project’s is placed', () => server.held.has(id));
    assert.equal(server.held.size, 4);
    await finishOne(fleet, server);
    await within(30_000, 'the fourth follows', () => server.orders.length === 5);
    assert.equal(server.held.size, 4);
  });

  test('a session that somebody holds while its turn comes is in no moment missing from its project’s cap', async () => {
    const { fleet, dispatcher, server } = await oneServer(10);
    await projects(fleet, 'capped');
    const cap = (most: number) =>
      fleet.sql(`UPDATE projects SET max_concurrent = $1 WHERE id = 'capped'`, [most]);
    await cap(0);
    const first = await open(dispatcher, 'capped');
    const holder = new Client({ connectionString: (await fleet.environment())['DATABASE_URL'] });
    await holder.connect();
    try {
      // As whoever mints it does.
      await holder.query('BEGIN');
      await holder.query('SELECT FROM sessions WHERE id = $1 FOR UPDATE', [first.id]);
      await cap(1);
      const second = await open(dispatcher, 'capped');
      // Each of these has had a turn behind the capped project's.
      for (let round = 0; round < 3; round += 1) {
        const { id } = await open(dispatcher, 'local');
        await within(30_000, 'another project’s is placed', () => server.held.has(id));
      }
      assert.equal(server.held.has(second.id), false, 'the cap is one, and the first one’s turn is not over');
      await holder.query('COMMIT');
      await within(30_000, 'the first is placed', () => server.held.has(first.id));
      assert.equal(server.held.has(second.id), false);
    } finally {
      await holder.end();
    }
  });

  test('who waits is told how long, in seconds by the pace of the last starts', async (context) => {
    const { fleet, dispatcher, server } = await oneServer(1);
    const first = await open(dispatcher, 'local');
    await within(30_000, 'the slot is taken', () => server.held.has(first.id));
    const waiting = [await open(dispatcher, 'local'), await open(dispatcher, 'local')];
    const pace = async () =>
      (
        await fleet.sql<{ pace: number }>(
          'SELECT starts_per_second AS pace FROM queue_book WHERE starts_per_second > 0',
        )
      )[0]?.pace;
    const estimates = async () =>
      Promise.all(
        waiting.map(async ({ id }) => (await fleet.session(id)).queue?.estimatedWaitSeconds ?? null),
      );
    await within(30_000, 'a start has been counted', async () => (await pace()) !== undefined);
    const lock = `hashtextextended('queue-book', 0)`;
    // Nobody counts anew while pace and estimates are read.
    await fleet.sql(`SELECT pg_advisory_lock(${lock})`);
    const seen = await pace();
    const told = await estimates();
    await fleet.sql(`SELECT pg_advisory_unlock(${lock})`);
    // One start within the last ten seconds or longer.
    assert.ok(seen !== undefined && seen > 0 && seen <= 0.1, `${seen} a second`);
    context.diagnostic(`at ${seen} starts a second: ${told.join(' and ')} seconds`);
    assert.deepEqual(told, [Math.ceil(1 / seen), Math.ceil(2 / seen)]);
    const slow = told[1];
    assert.ok(typeof slow === 'number' && slow >= 20, `${slow}`);
    await finishOne(fleet, server);
    // A second start, and one less before the other.
    await within(30_000, 'the estimate follows', async () => {
      const [, second] = await estimates();
      return typeof second === 'number' && second > 0 && second < slow;
    });
  });

  test('urgent sessions go first within their project, and age brings the others forward', async () => {
    const { fleet, dispatcher, server } = await oneServer(1);
    await open(dispatcher, 'local');
    await within(30_000, 'the slot is taken', () => server.held.size === 1);
    const low = await open(dispatcher, 'local', { priority: 'low' });
    const normal = await open(dispatcher, 'local');
    const high = await open(dispatcher, 'local', { priority: 'high' });
    const old = await open(dispatcher, 'local', { priority: 'low' });
    await fleet.sql(`UPDATE outbox SET queue_key = queue_key - interval '1 hour' WHERE session_id = $1`, [
      old.id,
    ]);
    for (let turn = 0; turn < 4; turn += 1) {
      const seen = server.orders.length;
      await finishOne(fleet, server);
      await within(30_000, 'the next is placed', () => server.orders.length > seen);
    }
    assert.deepEqual(
      server.orders.slice(1).map(({ order }) => order.sessionId),
      [old.id, high.id, normal.id, low.id],
    );
  });

  test('at its bound a backlog takes no more, and says so', async () => {
    const { fleet, dispatcher, server } = await oneServer(1);
    await projects(fleet, 'small');
    await fleet.sql(`UPDATE projects SET max_backlog = 3 WHERE id = 'small'`);
    await open(dispatcher, 'local');
    await within(30_000, 'the slot is taken', () => server.held.size === 1);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        dispatcher.call<{ code: string; detail: string }>('POST', '/v1/sessions', {
          ...ordinaryRequest,
          project: 'small',
        }),
      ),
    );
    assert.deepEqual(
      [202, 429].map((code) => answers.filter(({ status }) => status === code).length),
      [3, 5],
    );
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.body.code, 'backlog_full');
    assert.match(refused?.body.detail ?? '', /"small" has 3 sessions waiting/);
    await open(dispatcher, 'local');
  });

  test('a stop takes a waiting session out of the backlog', async () => {
    const { fleet, dispatcher, server } = await oneServer(1);
    await open(dispatcher, 'local');
    await within(30_000, 'the slot is taken', () => server.held.size === 1);
    const { id } = await open(dispatcher, 'local');
    await dispatcher.call('POST', `/v1/sessions/${id}/stop`);
    assert.deepEqual(await fleet.sql('SELECT id FROM outbox WHERE session_id = $1', [id]), []);
    await finishOne(fleet, server);
    assert.equal((await fleet.session(id)).state, 'user_stopped');
    assert.equal(server.orders.length, 1);
  });

  test('a wait that is too long for the project ends with a sentence', async () => {
    const { fleet, dispatcher, server } = await oneServer(1);
    await projects(fleet, 'hasty');
    await fleet.sql(`UPDATE projects SET max_wait_seconds = 1 WHERE id = 'hasty'`);
    const first = await open(dispatcher, 'local');
    await within(30_000, 'the slot is taken', () => server.held.has(first.id));
    const [patient, { id }] = [await open(dispatcher, 'local'), await open(dispatcher, 'hasty')];
    const ended = await fleet.until(id, 'failed');
    assert.equal(ended.reason, 'queue_deadline');
    assert.match(ended.message ?? '', /within 1 second/);
    assert.equal((await fleet.session(patient.id)).state, 'pending');
  });

  test('three dispatchers admit each session once, and all of them', async () => {
    const { fleet, dispatcher, server } = await oneServer(300);
    const others = [await fleet.startDispatcher(), await fleet.startDispatcher()];
    await projects(fleet, 'a', 'b', 'c');
    const all = [dispatcher, ...others];
    await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        open(all[index % 3] ?? dispatcher, ['a', 'b', 'c', 'local'][index % 4] ?? 'local'),
      ),
    );
    await within(30_000, 'all are placed', () => server.held.size === 150);
    assert.equal(server.orders.length, 150);
    assert.deepEqual(await fleet.sql('SELECT id FROM outbox'), []);
  });

  const gpu = { requires: { labels: ['gpu'] } };
  const arm = { requires: { architecture: 'arm64' } };

  test('a project’s cap is one over all classes and all dispatchers', async () => {
    const { fleet, dispatcher, server } = await oneServer(10);
    server.says = { labels: ['gpu'], architecture: 'arm64' };
    await server.heartbeat();
    const other = await fleet.startDispatcher();
    await projects(fleet, 'capped');
    await fleet.sql(`UPDATE projects SET max_concurrent = 1 WHERE id = 'capped'`);
    await fleet.sql(`INSERT INTO intake_pauses (scope, paused_by) VALUES ('fleet', 'p-1')`);
    for (let round = 0; round < 4; round += 1)
      await Promise.all(
        [{}, gpu, arm].map((more, index) => open(index === 1 ? other : dispatcher, 'capped', more)),
      );
    // From here on each of them may go at once.
    await fleet.sql('DELETE FROM intake_pauses');
    for (let placed = 1; placed <= 12; placed += 1) {
      await within(30_000, `number ${placed} is placed`, () => server.orders.length >= placed);
      // What was ordered in the meantime, and what is on its way.
      const [row] = await fleet.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM sessions WHERE project_id = 'capped'
         AND (state IN ('starting', 'running') OR (state = 'pending' AND phase = 'admitted'))`,
      );
      assert.equal(row?.count, 1, 'at the same time');
      assert.equal(server.held.size, 1);
      await finishOne(fleet, server);
    }
  });

  test('a project whose sessions wait for two pools has one cap', async () => {
    const fleet = await createTestFleet({
      servers: [
        { name: 'one', capacity: 10 },
        { name: 'two', capacity: 10 },
      ],
    });
    fleets.push(fleet);
    const [one, two] = fleet.servers;
    assert.ok(one && two);
    const servers = `${one.url},${two.url};pool=night`;
    const dispatchers = [await fleet.startDispatcher({ AGENT_SERVERS: servers })];
    dispatchers.push(await fleet.startDispatcher({ AGENT_SERVERS: servers }));
    await projects(fleet, 'capped');
    await fleet.sql(`UPDATE projects SET max_concurrent = 1 WHERE id = 'capped'`);
    await fleet.sql(`INSERT INTO intake_pauses (scope, paused_by) VALUES ('fleet', 'p-1')`);
    const [first] = dispatchers;
    assert.ok(first);
    for (let round = 0; round < 4; round += 1) await open(first, 'capped');
    await fleet.sql(`UPDATE projects SET pool = 'night' WHERE id = 'capped'`);
    for (let round = 0; round < 4; round += 1) await open(first, 'capped');
    const held = () => one.held.size + two.held.size;
    await fleet.sql('DELETE FROM intake_pauses');
    for (let placed = 1; placed <= 8; placed += 1) {
      await within(
        30_000,
        `number ${placed} is placed`,
        () => one.orders.length + two.orders.length >= placed,
      );
      const [row] = await fleet.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM sessions WHERE project_id = 'capped'
         AND (state IN ('starting', 'running') OR (state = 'pending' AND phase = 'admitted'))`,
      );
      assert.equal(row?.count, 1, 'at the same time');
      assert.equal(held(), 1);
      await finishOne(fleet, one.held.size > 0 ? one : two);
    }
    assert.ok(one.orders.length === 4 && two.orders.length === 4);
  });

  test('classes that the same servers take have turns with each other, with two dispatchers', async (context) => {
    const { fleet, dispatcher, server } = await oneServer(2);
    server.says = { labels: ['gpu'] };
    await server.heartbeat();
    await fleet.startDispatcher();
    await projects(fleet, 'crowd', 'newcomer');
    await Promise.all(Array.from({ length: 60 }, () => open(dispatcher, 'crowd')));
    const delays: number[] = [];
    for (let newcomer = 0; newcomer < 8; newcomer += 1) {
      const { id } = await open(dispatcher, 'newcomer', gpu);
      const before = server.orders.length;
      const place = () => server.orders.findIndex(({ order }) => order.sessionId === id);
      for (let turn = 0; turn < 40 && place() === -1; turn += 1) {
        const seen = server.orders.length;
        await finishOne(fleet, server);
        await within(30_000, 'the next is placed', () => server.orders.length > seen);
      }
      assert.ok(place() >= 0, 'the newcomer was placed');
      delays.push(place() - before);
    }
    context.diagnostic(`sessions that were placed before each newcomer: ${delays.join(' ')}`);
    // Reserved jobs, two slots here, and one session of the other project.
    assert.ok(Math.max(...delays) <= 2 + 1, delays.join(' '));
  });

  test('a class without a server holds up nobody', async () => {
    const { fleet, dispatcher, server } = await oneServer(3);
    await projects(fleet, 'a', 'b');
    await Promise.all(Array.from({ length: queueDepth + 6 }, () => open(dispatcher, 'a', gpu)));
    for (let index = 0; index < 3; index += 1) await open(dispatcher, 'b');
    await within(30_000, 'those that have a server are placed', () => server.held.size === 3);
    await open(dispatcher, 'b');
    await finishOne(fleet, server);
    await within(30_000, 'and so is the next', () => server.orders.length === 4);
  });
});
