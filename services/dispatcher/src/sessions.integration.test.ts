import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SessionPage, SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

describe('sessions over the public API', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  before(async () => {
    // A server that is always full keeps sessions pending; tests that want them placed open it.
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 200 }] });
    dispatcher = await fleet.startDispatcher();
  });
  after(() => fleet.remove());

  const create = (extra: object = {}, headers: Record<string, string> = {}) =>
    dispatcher.call<SessionView & Problem>('POST', '/v1/sessions', { ...ordinaryRequest, ...extra }, headers);
  const behave = (behaviour: 'take' | 'full'): void => {
    const [server] = fleet.servers;
    if (server !== undefined) server.behaviour = behaviour;
  };

  test('one transaction leaves row, opening entry and first event', async () => {
    behave('full');
    const { body } = await create();
    const [row] = await fleet.sql<{ entries: string; events: string }>(
      `SELECT (SELECT string_agg(type, ',' ORDER BY seq) FROM audit_entries WHERE chain = 'session:' || $1) AS entries,
        (SELECT event ->> 'state' FROM session_events WHERE session_id = $1 AND position = 1) AS events`,
      [body.id],
    );
    assert.match(row?.entries ?? '', /^session\.opened/);
    assert.equal(row?.events, 'pending');
    assert.equal(body.queue?.position !== undefined, true);
  });

  test('the instruction is not in the log', async () => {
    const { body } = await create({ instruction: 'a-very-secret-instruction' });
    const [row] = await fleet.sql<{ leaks: number }>(
      `SELECT count(*)::int AS leaks FROM audit_entries
       WHERE chain = 'session:' || $1 AND position('a-very-secret-instruction'::bytea in body) > 0`,
      [body.id],
    );
    assert.equal(row?.leaks, 0);
  });

  test('a repeated idempotency key gets the first session, and another request is refused', async () => {
    const headers = { 'idempotency-key': 'key-1' };
    const first = await create({}, headers);
    const second = await create({}, headers);
    assert.equal(second.status, 202);
    assert.equal(second.body.id, first.body.id);
    const other = await create({ instruction: 'something else' }, headers);
    assert.equal(other.status, 422);
    assert.equal(other.body.code, 'idempotency_mismatch');
  });

  test('thirty requests with one key at the same moment open one session', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => create({ instruction: 'raced' }, { 'idempotency-key': 'race' })),
    );
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([202]));
    assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1);
    const [row] = await fleet.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM sessions WHERE instruction = 'raced'`,
    );
    assert.equal(row?.count, 1);
  });

  const refusals: readonly [what: string, extra: object, status: number, code: string, names: RegExp][] = [
    ['project', { project: 'nowhere' }, 404, 'project_unknown', /nowhere.*local/],
    ['model', { model: 'gpt-0' }, 422, 'model_unknown', /gpt-0.*scripted-1/],
    ['runtime', { runtime: 'basic' }, 422, 'runtime_unknown', /basic.*native/],
    ['agent', { agent: 'smith' }, 404, 'agent_unknown', /smith.*default/],
    ['server', { server: 'ws-none' }, 404, 'server_unknown', /ws-none/],
    ['execution', { execution: 'workstation', surface: 'terminal' }, 422, 'execution_refused', /"server"/],
    ['surface', { execution: 'workstation', surface: 'api', server: 'x' }, 422, 'execution_refused', /api/],
    [
      'pool server as workstation',
      { execution: 'workstation', surface: 'terminal', server: 'alpha' },
      422,
      'execution_refused',
      /pool/,
    ],
    [
      'bundle',
      { repository: { kind: 'bundle', sha256: 'a'.repeat(64), commit: 'b'.repeat(40), name: 'r' } },
      422,
      'repository_missing',
      /uploads/,
    ],
    ['member', { colour: 'red' }, 400, 'request_invalid', /colour/],
    ['instruction', { instruction: '' }, 400, 'request_invalid', /instruction/],
  ];
  for (const [what, extra, status, code, names] of refusals)
    test(`an unknown or unfit ${what} is refused by name and leaves nothing`, async () => {
      const [before] = await fleet.sql<{ count: number }>('SELECT count(*)::int AS count FROM sessions');
      const answer = await create(extra);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.equal(answer.body.code, code);
      assert.match(answer.body.detail, names);
      assert.equal(answer.type, 'application/problem+json');
      const [after] = await fleet.sql<{ count: number }>('SELECT count(*)::int AS count FROM sessions');
      assert.equal(after?.count, before?.count);
    });

  test('broken JSON, an unknown path and a missing login are problems', async () => {
    const broken = await dispatcher.call<Problem>('POST', '/v1/sessions', '{"a":');
    assert.equal(broken.status, 400);
    assert.equal(broken.body.code, 'request_invalid');
    const nowhere = await dispatcher.call<Problem>('GET', '/v1/nothing');
    assert.equal(nowhere.status, 404);
    assert.equal(nowhere.body.code, 'not_found');
    const anonymous = await dispatcher.call<Problem>('GET', '/v1/sessions', undefined, { authorization: '' });
    assert.equal(anonymous.status, 401);
    assert.equal(anonymous.body.code, 'unauthenticated');
    const wrong = await dispatcher.call<Problem>('GET', '/v1/sessions', undefined, {
      authorization: `Bearer ${fleet.token}x`,
    });
    assert.equal(wrong.status, 401);
    const odd = await dispatcher.call<Problem>('GET', '//v1/sessions', undefined, { authorization: '' });
    assert.ok(odd.status === 401 || odd.status === 404);
    const unknown = await dispatcher.call<Problem>('GET', '/v1/sessions/s_0');
    assert.equal(unknown.body.code, 'session_unknown');
  });

  test('a body past the limit is refused', async () => {
    const answer = await create({ instruction: 'x'.repeat(1_200_000) });
    assert.equal(answer.status, 413);
    assert.equal(answer.body.code, 'payload_too_large');
  });

  test('health and description are open, and every route is described', async () => {
    const open = { authorization: '' };
    assert.equal((await dispatcher.call('GET', '/healthz', undefined, open)).status, 200);
    assert.equal((await dispatcher.call('GET', '/readyz', undefined, open)).status, 200);
    const description = await dispatcher.call<{ openapi: string; paths: Record<string, unknown> }>(
      'GET',
      '/openapi.json',
      undefined,
      open,
    );
    assert.match(description.body.openapi, /^3\.1/);
    for (const path of ['/v1/sessions', '/v1/sessions/{id}', '/v1/sessions/{id}/stop', '/v1/servers'])
      assert.ok(path in description.body.paths, path);
  });

  test('pages list each session once, newest first, while others are born', async () => {
    const born = await Promise.all(Array.from({ length: 7 }, () => create({ instruction: 'paged' })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: { body: SessionPage } = await dispatcher.call<SessionPage>(
        'GET',
        `/v1/sessions?limit=3${query}`,
      );
      seen.push(...page.body.sessions.map((session) => session.id));
      cursor = page.body.nextCursor;
      if (seen.length < 9) await create({ instruction: 'late' });
    } while (cursor !== null);
    assert.deepEqual(seen, [...new Set(seen)].sort().toReversed());
    for (const { body } of born) assert.ok(seen.includes(body.id));
    const forged = await dispatcher.call<Problem>('GET', '/v1/sessions?cursor=Zm9v');
    assert.equal(forged.body.code, 'request_invalid');
  });

  test('stopping a pending session ends it at once and for good, and twice is once', async () => {
    behave('full');
    const { body } = await create();
    for (let times = 0; times < 2; times += 1) {
      const stopped = await dispatcher.call<SessionView>('POST', `/v1/sessions/${body.id}/stop`);
      assert.equal(stopped.status, 200);
      assert.equal(stopped.body.state, 'user_stopped');
      assert.equal(stopped.body.reason, 'stopped');
      assert.equal(stopped.body.exitCode, 130);
    }
    const [entries] = await fleet.sql<{ types: string; closed: boolean }>(
      `SELECT string_agg(type, ',' ORDER BY seq) AS types,
        (SELECT closed FROM audit_chains WHERE chain = 'session:' || $1) AS closed
       FROM audit_entries WHERE chain = 'session:' || $1 AND type <> 'attempt.started' AND type <> 'attempt.lost'`,
      [body.id],
    );
    assert.equal(entries?.types, 'session.opened,session.stopped,session.ended,chain.closed');
    assert.equal(entries?.closed, true);
  });

  for (const state of ['starting', 'running'] as const)
    test(`stopping a ${state} session ends it and its server destroys it`, async () => {
      behave('take');
      const [server] = fleet.servers;
      assert.ok(server);
      const { body } = await create();
      await within(30_000, 'the order was taken', () => server.held.has(body.id));
      if (state === 'running')
        await fleet.sql(
          `UPDATE sessions SET state = 'running', phase = 'working', version = version + 1 WHERE id = $1`,
          [body.id],
        );
      const stopped = await dispatcher.call<SessionView>('POST', `/v1/sessions/${body.id}/stop`);
      assert.equal(stopped.body.state, 'user_stopped');
      await within(30_000, 'the server was told', () =>
        server.destroyed.some((held) => held.sessionId === body.id && held.attempt === 1),
      );
    });

  test('a stop whose call is lost is said again by the next heartbeat', async () => {
    const [server] = fleet.servers;
    assert.ok(server);
    behave('take');
    const { body } = await create();
    await within(30_000, 'the order was taken', () => server.held.has(body.id));
    await dispatcher.call('POST', `/v1/sessions/${body.id}/stop`);
    await within(30_000, 'the call came', () => server.destroyed.some((held) => held.sessionId === body.id));
    (server.held as Map<string, number>).set(body.id, 1);
    const answer = await server.heartbeat();
    assert.deepEqual(answer.stale, [{ sessionId: body.id, attempt: 1 }]);
    assert.deepEqual(answer.commands, [{ sessionId: body.id, attempt: 1, kind: 'stop', reason: 'stopped' }]);
  });

  test('wait answers when the session has ended', async () => {
    behave('full');
    const waiting = dispatcher.call<SessionView>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      instruction: 'awaited',
      wait: true,
    });
    let id = '';
    await within(30_000, 'the session exists', async () => {
      const [row] = await fleet.sql<{ id: string }>(`SELECT id FROM sessions WHERE instruction = 'awaited'`);
      id = row?.id ?? '';
      return id !== '';
    });
    await dispatcher.call('POST', `/v1/sessions/${id}/stop`);
    const answer = await waiting;
    assert.equal(answer.status, 200);
    assert.equal(answer.body.state, 'user_stopped');
  });
});
