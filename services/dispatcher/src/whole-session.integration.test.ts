import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import canonicalize from 'canonicalize';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

describe('one session through the dispatcher', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 5 }] });
    dispatcher = await fleet.startDispatcher();
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
  });
  after(() => fleet.remove());

  const patch = Buffer.from('diff --git a/a b/a\n');
  const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

  /** Does what an agent server does with an order, without a sandbox. */
  const play = async (
    order: SessionOrder,
  ): Promise<{ permit: { status: number; body: unknown }; model: number }> => {
    const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    let seq = 1;
    const report = async (...events: ServerEvent[]): Promise<void> => {
      const at = new Date().toISOString();
      const answer = await server.post(`${base}/events`, {
        firstSeq: seq,
        events: events.map((event) => ({ at, event })),
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      seq += events.length;
    };
    await report({ type: 'running', driver: 'simulated', warm: true, timingsMs: { claim: 1 } });
    const model = await server.post(
      '/model/anthropic/v1/messages',
      { model: order.model, max_tokens: 1000, messages: [{ role: 'user', content: order.instruction }] },
      { 'x-api-key': order.relayToken },
    );
    assert.equal(model.status, 200, JSON.stringify(model.body));
    const args = { path: 'README.md' };
    const permit = await server.post(`${base}/permits`, {
      callId: 'c1',
      turn: 1,
      tool: 'read_file',
      arguments: args,
      argumentsDigest: sha256(canonicalize(args) ?? ''),
      waitMs: 0,
    });
    const result = await server.post(`${base}/result`, {
      reason: 'finished',
      message: 'done',
      diff: {
        sha256: sha256(patch),
        bytes: patch.length,
        baseCommit: 'c'.repeat(40),
        baseTree: 't'.repeat(40),
        files: [{ path: 'a', change: 'modified', insertions: 1, deletions: 0, flags: [] }],
        insertions: 1,
        deletions: 0,
      },
      patch: { kind: 'inline', base64: patch.toString('base64') },
      timingsMs: {},
    });
    assert.equal(result.status, 200, JSON.stringify(result.body));
    server.drop(order.sessionId);
    return { permit, model: model.status };
  };

  test('runs from the request to the offered diff, priced and logged', async () => {
    const played = Promise.withResolvers<Awaited<ReturnType<typeof play>>>();
    server.onTaken = (order) => {
      play(order).then(played.resolve, played.reject);
    };
    const answer = await dispatcher.call<SessionView>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      wait: true,
    });
    const { permit } = await played.promise;
    // Nobody follows this session and the default policy asks: an automation says no, with the line that would free it.
    assert.match(JSON.stringify(permit.body), /"verdict":"rejected".*"automation"/);
    assert.equal(answer.status, 200);
    const { body } = answer;
    assert.equal(body.state, 'completed');
    assert.equal(body.exitCode, 0);
    assert.equal(body.sandbox.driver, 'simulated');
    assert.equal(body.diff?.state, 'offered');
    assert.ok(body.usage.inputTokens > 0 && body.usage.outputTokens > 0, JSON.stringify(body.usage));
    assert.ok(body.priced && Number(body.totalCostUsd) > 0, body.totalCostUsd);
    for (const span of ['queued', 'starting', 'running', 'total']) assert.ok(span in body.timingsMs, span);
    const [row] = await fleet.sql<{ types: string; closed: boolean }>(
      `SELECT string_agg(type, ',' ORDER BY seq) AS types, (SELECT closed FROM audit_chains WHERE chain = 'session:' || $1)
       FROM audit_entries WHERE chain = 'session:' || $1`,
      [body.id],
    );
    assert.equal(row?.closed, true);
    for (const type of [
      'session.opened',
      'attempt.started',
      'session.running',
      'model.exchanged',
      'tool.proposed',
      'tool.decided',
      'diff.offered',
      'session.ended',
      'chain.closed',
    ])
      assert.ok(row?.types.split(',').includes(type), `${type} in ${row?.types}`);
  });

  test('whatever comes of an attempt that is over is refused', async () => {
    const placed = Promise.withResolvers<SessionOrder>();
    server.onTaken = placed.resolve;
    const { body } = await dispatcher.call<SessionView>('POST', '/v1/sessions', ordinaryRequest);
    const order = await placed.promise;
    await dispatcher.call('POST', `/v1/sessions/${body.id}/stop`);
    const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    const at = new Date().toISOString();
    const late: [path: string, body: unknown][] = [
      [`${base}/events`, { firstSeq: 1, events: [{ at, event: { type: 'turn', turn: 1 } }] }],
      [
        `${base}/permits`,
        {
          callId: 'c',
          turn: 1,
          tool: 'read_file',
          arguments: { path: 'a' },
          argumentsDigest: sha256('{"path":"a"}'),
          waitMs: 0,
        },
      ],
      [`${base}/result`, { reason: 'finished', message: 'm', diff: null, patch: null, timingsMs: {} }],
      [`${base}/uploads`, { sha256: 'a'.repeat(64), bytes: 1 }],
    ];
    for (const [path, content] of late) {
      const answer = await server.post(path, content);
      assert.equal(answer.status, 409, `${path} ${JSON.stringify(answer.body)}`);
      assert.match(JSON.stringify(answer.body), /attempt_stale/);
    }
    const model = await server.post(
      '/model/anthropic/v1/messages',
      { model: order.model, max_tokens: 10, messages: [{ role: 'user', content: 'x' }] },
      { 'x-api-key': order.relayToken },
    );
    assert.ok(model.status >= 400 && model.status < 500, String(model.status));
  });
});
