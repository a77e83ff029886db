import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestFleet, ordinaryRequest } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import { within } from '@lemniscate/dispatcher/testing/within.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { protocolVersion } from '@lemniscate/shared/protocol/protocol-version.ts';
import { noFaults } from '../simulated/plan.ts';
import { startSimulatedFleet } from '../simulated/simulated-fleet.ts';
import { firstStatus, readFirstOrder } from './first-protocol.ts';
import { firstPatch, readFirstHeartbeat, sayFirstSession } from './first-session.ts';

/** Sessions under way at any time: both servers' slots are in use, and none waits for long. */
const openAtOnce = 12;
/** What some later version may say beside. */
const asNew = (status: ServerStatus): object => ({
  ...status,
  protocol: protocolVersion + 1,
  runtimes: ['claude-code'],
  architecture: process.arch,
  now: new Date().toISOString(),
  zone: 'eu-1',
  accelerators: { kind: 'none', count: 0 },
});

test('dispatchers and servers are replaced one after the other, and no session is lost', async (t) => {
  const fleet = await createTestFleet({ servers: [] });
  t.after(() => fleet.remove());
  let internalUrls: string[] = [];
  const misread: string[] = [];
  const plan = {
    servers: 2,
    capacity: 8,
    pool: 'default',
    heartbeatMs: 500,
    start: { kind: 'fixed', ms: 20 },
    work: { kind: 'uniform', fromMs: 200, toMs: 1_500 },
    faults: noFaults,
  } as const;
  const common = { ca: fleet.authority.ca, caKey: fleet.authority.caKey, dispatcherUrls: () => internalUrls };
  const older = await startSimulatedFleet({
    ...common,
    plan: { ...plan, seed: 1 },
    dressStatus: firstStatus,
    readOrder: readFirstOrder,
    readHeartbeat: readFirstHeartbeat((what) => misread.push(what)),
    saysOn: (order) => sayFirstSession(order, (what) => misread.push(what)),
  });
  t.after(() => older.close());
  const newer = await startSimulatedFleet({ ...common, plan: { ...plan, seed: 2 }, dressStatus: asNew });
  t.after(() => newer.close());
  const addresses = { AGENT_SERVERS: [...older.addresses, ...newer.addresses].join(',') };

  const urlOf = (dispatcher: TestDispatcher): string => `https://127.0.0.1:${dispatcher.internalPort}`;
  const first = await fleet.startDispatcher(addresses);
  internalUrls = [urlOf(first)];
  older.startHeartbeats();
  newer.startHeartbeats();
  const project = 'upgraded';
  const made = await first.call('POST', '/v1/projects', { id: project, policy: 'tools: {read_file: allow}' });
  assert.ok(made.status < 300, `a project answered ${made.status}`);
  let serving = first;
  const ids: string[] = [];
  const storm = new AbortController();
  const load = (async () => {
    for (let number = 0; !storm.signal.aborted; number += 1) {
      // As a client does it: asked again under the same key when its dispatcher has just gone.
      await within(30_000, 'a session is accepted', async () => {
        const request = { ...ordinaryRequest, project };
        const asked = serving.call<{ id: string }>('POST', '/v1/sessions', request, {
          'idempotency-key': `upgrade-${number}`,
        });
        const answer = await asked.catch(() => null);
        if (answer?.status !== 202) return false;
        ids.push(answer.body.id);
        return true;
      });
      await within(30_000, 'a few of them have ended', async () => {
        const [open] = await fleet.sql<{ open: number }>(
          `SELECT count(*)::int AS open FROM sessions WHERE ended_at IS NULL`,
        );
        return (open?.open ?? 0) < openAtOnce;
      });
    }
  })();
  const placedOn = async (names: RegExp): Promise<number> => {
    const rows = await fleet.sql<{ server_id: string }>('SELECT DISTINCT server_id FROM attempts');
    return rows.filter(({ server_id: server }) => names.test(server)).length;
  };
  await within(
    30_000,
    'both versions have sessions',
    async () => (await placedOn(/^sim-1-/)) > 0 && (await placedOn(/^sim-2-/)) > 0,
  );

  const second = await fleet.startDispatcher(addresses);
  internalUrls = [urlOf(first), urlOf(second)];
  await within(30_000, 'sessions are opened beside the new dispatcher', () =>
    Promise.resolve(ids.length > 20),
  );
  serving = second;
  internalUrls = [urlOf(second)];
  await first.stop();

  for (const { name } of older.servers) {
    const { body } = await second.call<{ servers: { id: string; version: number }[] }>('GET', '/v1/servers');
    const seen = { 'if-match': `"${body.servers.find(({ id }) => id === name)?.version}"` };
    const drained = await second.call('PUT', `/v1/servers/${name}/drain`, {}, seen);
    assert.ok(drained.status < 300, `drain answered ${drained.status}`);
  }
  await within(30_000, 'the old servers are empty', () =>
    Promise.resolve(older.servers.every((server) => server.status().held.length === 0)),
  );
  await older.close();
  const before = ids.length;
  await within(30_000, 'the new ones carry on', () => Promise.resolve(ids.length > before + 20));
  storm.abort();
  await load;

  await within(30_000, 'every session has ended', async () => {
    const [row] = await fleet.sql<{ open: number }>(
      `SELECT count(*)::int AS open FROM sessions WHERE ended_at IS NULL`,
    );
    return row?.open === 0;
  });
  const ends = await fleet.sql<{ state: string; losses: number; sessions: number }>(
    'SELECT state, losses, count(*)::int AS sessions FROM sessions GROUP BY 1, 2',
  );
  assert.deepEqual(ends, [{ state: 'completed', losses: 0, sessions: new Set(ids).size }]);
  assert.deepEqual(misread, [], 'a server of the first protocol can read every answer');
  await checkFirstSessions(fleet);
});

/** What sessions on servers of the first protocol left: a permit each, a model's answer that was paid, every event and a patch. */
async function checkFirstSessions(fleet: TestFleet): Promise<void> {
  const [left] = await fleet.sql<Record<string, number>>(
    `SELECT count(*)::int AS sessions, count(*) FILTER (WHERE EXISTS (
         SELECT FROM tool_calls WHERE session_id = s.id AND state = 'done' AND decided_by = 'automation'))::int AS calls,
       count(*) FILTER (WHERE EXISTS (SELECT FROM usage WHERE session_id = s.id AND state = 'settled'))::int AS exchanges,
       count(*) FILTER (WHERE EXISTS (SELECT FROM diffs WHERE session_id = s.id AND patch = $1))::int AS patches
     FROM sessions s WHERE server_id LIKE 'sim-1-%'`,
    [firstPatch],
  );
  const sessions = left?.['sessions'] ?? 0;
  assert.ok(sessions > 5, `only ${sessions} sessions on servers of the first protocol`);
  assert.deepEqual(left, { sessions, calls: sessions, exchanges: sessions, patches: sessions });
}
