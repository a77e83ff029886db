import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

describe('revocation', () => {
  let fleet: TestFleet;
  let folder: string;
  let admin: TestDispatcher;
  let bob: (token?: string) => Record<string, string>;
  let bobs: TestDispatcher;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    admin = await fleet.startDispatcher();
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-logins-'));
    const login = join(folder, 'bob.json');
    const token = 'a-token-of-bob-that-is-long-enough';
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    await writeFile(
      login,
      JSON.stringify({ token, subject: 'bob', name: 'Bob', expiresAt, roles: ['member'] }),
    );
    bobs = await fleet.startDispatcher({ LEMNISCATE_LOCAL_LOGIN: login });
    bob = () => ({ authorization: `Bearer ${token}` });
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const asBob = <Body>(method: string, path: string, body?: unknown) =>
    bobs.call<Body & Problem>(method, path, body, bob());
  const open = async (): Promise<string> =>
    (await asBob<SessionView>('POST', '/v1/sessions', ordinaryRequest)).body.id;

  test('a session: at once, audited, its attempt dead, its server told; a member may not', async () => {
    const id = await open();
    await fleet.until(id, 'starting');
    assert.equal((await asBob('POST', `/v1/sessions/${id}/revoke`, {})).status, 403);
    const answer = await admin.call<SessionView>('POST', `/v1/sessions/${id}/revoke`, {
      note: 'Leaked key.',
    });
    assert.equal(answer.status, 200);
    assert.deepEqual(
      [answer.body.state, answer.body.reason, answer.body.exitCode],
      ['user_stopped', 'revoked', 4],
    );
    assert.match(answer.body.message ?? '', /Leaked key/);
    await within(
      30_000,
      'the server is told',
      async () => fleet.servers[0]?.destroyed.some(({ sessionId }) => sessionId === id) === true,
    );
    const [row] = await fleet.sql<{ types: string; live: number }>(
      `SELECT string_agg(type, ',' ORDER BY seq) AS types,
         (SELECT count(*)::int FROM attempts WHERE session_id = $1 AND state = 'live') AS live
       FROM audit_entries WHERE chain = 'session:' || $1`,
      [id],
    );
    assert.match(row?.types ?? '', /session\.revoked,session\.ended,chain\.closed$/);
    assert.equal(row?.live, 0);
    const again = await admin.call<SessionView>('POST', `/v1/sessions/${id}/revoke`, {});
    assert.equal(again.body.state, 'user_stopped');
  });

  test('a person: every session in every state, open streams, every later request; without a restart', async () => {
    const [server] = fleet.servers;
    assert.ok(server);
    const placed = await open();
    await fleet.until(placed, 'starting');
    server.behaviour = 'full';
    const queued = await open();
    server.behaviour = 'take';
    const other = await admin.call<SessionView>('POST', '/v1/sessions', ordinaryRequest);
    const stream = await fetch(`http://127.0.0.1:${bobs.publicPort}/v1/sessions/${other.body.id}/events`, {
      headers: { ...bob(), accept: 'text/event-stream' },
    });
    assert.equal(stream.status, 200);
    const racing = Array.from({ length: 10 }, open);
    const revoked = await admin.call<{ sessionsEnded: number }>('PUT', '/v1/revocations/bob', {});
    assert.equal(revoked.status, 200);
    await Promise.all(racing);
    const refused = await asBob('GET', '/v1/sessions');
    assert.deepEqual([refused.status, refused.body.code], [401, 'login_revoked']);
    assert.equal((await asBob('POST', '/v1/sessions', ordinaryRequest)).status, 401);
    await assert.rejects(async () => {
      for await (const _ of stream.body ?? []);
    });
    const live = await fleet.sql(`SELECT id FROM sessions WHERE opened_by = 'bob' AND ended_at IS NULL`);
    assert.deepEqual(live, []);
    const reasons = await fleet.sql<{ reason: string }>(
      `SELECT DISTINCT reason FROM sessions WHERE id = ANY ($1)`,
      [[placed, queued]],
    );
    assert.deepEqual(reasons, [{ reason: 'revoked' }]);
    const [entry] = await fleet.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM audit_entries WHERE chain = 'fleet:main' AND type = 'user.revoked'`,
    );
    assert.equal(entry?.count, 1);
    // Repeating changes nothing; oneself is refused; and access can be given back.
    assert.equal((await admin.call('PUT', '/v1/revocations/bob', {})).status, 200);
    assert.equal((await admin.call('PUT', '/v1/revocations/p-1', {})).status, 400);
    const revocations = await admin.call<{ users: { version: number }[] }>('GET', '/v1/revocations');
    const seen = { 'if-match': `"${revocations.body.users[0]?.version}"` };
    assert.equal((await admin.call('DELETE', '/v1/revocations/bob', undefined, seen)).status, 204);
    assert.equal((await asBob('GET', '/v1/sessions')).status, 200);
  });
});
