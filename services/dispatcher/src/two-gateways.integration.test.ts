import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Agent, request } from 'undici';
import type { ExtensionView } from '@lemniscate/shared/api/extension.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { beginSession, orderOf } from './testing/played-session.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { startTcpProxy } from './testing/tcp-proxy.ts';
import type { TcpProxy } from './testing/tcp-proxy.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const model = 'claude-haiku-4-5';
const places = 3;

/** A request that the upstream has not answered yet. */
interface Asked {
  readonly key: string;
  readonly reply: ServerResponse;
}
const event = (data: object & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

describe('two dispatchers behind a balancer, one provider', { concurrency: false }, () => {
  let fleet: TestFleet;
  let server: SimulatedAgentServer;
  let dispatchers: readonly [TestDispatcher, TestDispatcher];
  /** Passes each connection to the next dispatcher: their certificates are asked for by the dispatchers themselves. */
  let balancer: TcpProxy;
  let agent: Agent;
  let folder: string;
  let upstream: Server;
  /** What the upstream holds back, in the order of its coming; it answers at once while `holds` is false. */
  let waiting: Asked[] = [];
  let holds = false;
  let refusedKeys = new Set<string>();
  let keysSeen: string[] = [];
  let inside = 0;
  let most = 0;
  let answers = 0;
  let answerId: (() => string) | null = null;

  const answer = ({ reply }: Asked): void => {
    answers += 1;
    const usage = { input_tokens: 1000, output_tokens: 1 };
    const message = { id: answerId?.() ?? `msg_${answers}`, type: 'message', model, usage };
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.write(event({ type: 'message_start', message } as never));
    reply.write(event({ type: 'message_delta', usage: { output_tokens: 200 } } as never));
    reply.end(event({ type: 'message_stop' }));
  };
  const serve = (incoming: IncomingMessage, reply: ServerResponse): void => {
    const key = String(incoming.headers['x-api-key']);
    keysSeen.push(key);
    incoming.resume();
    inside += 1;
    most = Math.max(most, inside);
    reply.on('close', () => (inside -= 1));
    incoming.on('end', () => {
      if (refusedKeys.has(key)) {
        reply.writeHead(401, { 'content-type': 'application/json' }).end('{"type":"error"}');
        return;
      }
      if (holds) waiting.push({ key, reply });
      else answer({ key, reply });
    });
  };

  before(async () => {
    upstream = createServer(serve).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-gateways-'));
    const providers = join(folder, 'providers.yaml');
    const { port } = upstream.address() as AddressInfo;
    await writeFile(
      providers,
      `providers:\n- name: house\n  api: anthropic\n  prices: anthropic\n  baseUrl: http://127.0.0.1:${port}\n` +
        `  keys: [env:HOUSE_ONE, env:HOUSE_TWO]\n  models: [${model}]\n  concurrency: ${places}\n`,
    );
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    const settings = {
      LEMNISCATE_PROVIDERS: providers,
      LEMNISCATE_MODEL: model,
      HOUSE_ONE: 'key-one',
      HOUSE_TWO: 'key-two',
    };
    dispatchers = [
      await fleet.startDispatcherProcess(settings),
      await fleet.startDispatcherProcess(settings),
    ];
    balancer = await startTcpProxy(dispatchers[0].internalPort);
    balancer.pointTo(...dispatchers.map(({ internalPort }) => internalPort));
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    const identity = await fleet.authority.issue(serviceUri('agent-server', 'alpha'));
    agent = new Agent({
      // HTTP/2 would put all exchanges on one connection, and so to one dispatcher.
      allowH2: false,
      connect: {
        ca: await readFile(fleet.authority.ca, 'utf8'),
        cert: await readFile(identity.cert, 'utf8'),
        key: await readFile(identity.key, 'utf8'),
        checkServerIdentity: () => undefined,
      },
    });
  });
  beforeEach(() => {
    holds = false;
    waiting = [];
    refusedKeys = new Set();
    keysSeen = [];
    most = 0;
    answerId = null;
  });
  after(async () => {
    await agent.destroy();
    balancer.close();
    await fleet.remove();
    upstream.closeAllConnections();
    upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A project of its own for a policy. */
  async function createProject(id: string, policy: object): Promise<{ project: string }> {
    const made = await dispatchers[0].call<Problem>('POST', '/v1/projects', {
      id,
      policy: JSON.stringify(policy),
    });
    assert.equal(made.status, 201, made.body.detail);
    return { project: id };
  }
  async function openSession(more: object = {}): Promise<SessionOrder> {
    const { body, status } = await dispatchers[0].call<SessionView & Problem>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      ...more,
    });
    assert.equal(status, 202, body.detail);
    const order = await orderOf(server, body.id);
    await beginSession(server, order);
    return order;
  }

  async function ask(at: 0 | 1 | 'balancer', order: SessionOrder): Promise<{ status: number; text: string }> {
    const port = at === 'balancer' ? balancer.port : dispatchers[at].internalPort;
    const sent = await request(`https://127.0.0.1:${port}/model/anthropic/v1/messages`, {
      method: 'POST',
      // Each exchange has a connection of its own, which may lead anywhere.
      reset: true,
      dispatcher: agent,
      headers: { 'content-type': 'application/json', 'x-api-key': order.relayToken },
      body: JSON.stringify({
        model,
        max_tokens: 1000,
        stream: true,
        messages: [{ role: 'user', content: 'go on' }],
      }),
    });
    return { status: sent.statusCode, text: await sent.body.text() };
  }
  const usageOf = (order: SessionOrder) =>
    fleet.sql<{
      gateway: string;
      state: string;
      complete: boolean | null;
      input: number;
      output: number;
      usd: string | null;
    }>(
      `SELECT gateway, state, complete, input_tokens::int AS input, output_tokens::int AS output,
         trim_scale(cost_usd)::text AS usd FROM usage WHERE session_id = $1 ORDER BY id`,
      [order.sessionId],
    );
  const upstreamHolds = (count: number) =>
    within(30_000, `the upstream holds ${count} requests`, () => waiting.length === count);
  const answerAll = (): void => waiting.splice(0).forEach(answer);

  test('keep its places together, and a session’s exchanges may go to either', async () => {
    const orders = [await openSession(), await openSession(), await openSession()];
    holds = true;
    const asked = orders.flatMap((order) => Array.from({ length: 6 }, () => ask('balancer', order)));
    for (let round = 0; round < asked.length / places; round += 1) {
      await upstreamHolds(places);
      answerAll();
    }
    const answered = await Promise.all(asked);
    assert.deepEqual([...new Set(answered.map(({ status }) => status))], [200]);
    // Without the shared room each of the two would let three in.
    assert.equal(most, places);
    for (const order of orders) {
      await within(30_000, 'all are settled', async () =>
        (await usageOf(order)).every(({ state }) => state === 'settled'),
      );
      const rows = await usageOf(order);
      assert.equal(rows.length, 6);
      assert.equal(new Set(rows.map(({ gateway }) => gateway)).size, 2);
      assert.deepEqual([...new Set(rows.map(({ usd }) => usd))], ['0.002']);
      const view = await dispatchers[1].call<SessionView>('GET', `/v1/sessions/${order.sessionId}`);
      assert.equal(view.body.totalCostUsd, '0.012');
    }
  });

  test('each pass over a key that is refused, and no client hears of it', async () => {
    const order = await openSession();
    refusedKeys = new Set(['key-one']);
    for (const at of [0, 1, 0, 1, 0, 1] as const) assert.equal((await ask(at, order)).status, 200);
    assert.equal(keysSeen.filter((key) => key === 'key-two').length, 6);
    // Each finds it out for itself, and then lets it rest.
    assert.ok(keysSeen.filter((key) => key === 'key-one').length <= 2, keysSeen.join(' '));
  });

  test('reserve from one budget: what runs at one counts at the other, and its end too', async () => {
    // Each exchange holds at most about half a cent and costs two tenths of one.
    const order = await openSession(await createProject('thrifty', { budgets: { maxCostUsd: '0.003' } }));
    holds = true;
    const first = ask(0, order);
    await upstreamHolds(1);
    const meanwhile = await ask(1, order);
    assert.equal(meanwhile.status, 503, meanwhile.text);
    assert.match(meanwhile.text, /has open may use up what is left/);
    answerAll();
    assert.equal((await first).status, 200);
    await within(30_000, 'it is settled', async () => (await usageOf(order))[0]?.state === 'settled');
    const second = ask(1, order);
    await upstreamHolds(1);
    answerAll();
    assert.equal((await second).status, 200);
    await within(30_000, 'it is settled', async () => (await usageOf(order))[1]?.state === 'settled');
    for (const at of [0, 1] as const) {
      const refused = await ask(at, order);
      assert.equal(refused.status, 402);
      assert.match(refused.text, /budget_cost/);
    }
    assert.equal((await usageOf(order)).length, 2);
  });

  test('an exchange that one holds for a person goes on when the other hears the answer', async () => {
    const order = await openSession({
      ...(await createProject('short', { budgets: { maxActions: 1 } })),
      interactive: true,
    });
    await fleet.sql(`UPDATE sessions SET actions_used = 1 WHERE id = $1`, [order.sessionId]);
    const held = ask(0, order);
    const path = `/v1/sessions/${order.sessionId}/extensions`;
    let questions: readonly ExtensionView[] = [];
    await within(30_000, 'the person is asked', async () => {
      questions =
        (await dispatchers[1].call<{ extensions: ExtensionView[] }>('GET', path)).body.extensions ?? [];
      return questions.length === 1;
    });
    assert.deepEqual(await usageOf(order), []);
    const decided = await dispatchers[1].call<Problem>('POST', `/v1/sessions/${order.sessionId}/extension`, {
      decision: 'extend',
      number: questions[0]?.number,
    });
    assert.equal(decided.status, 200, decided.body.detail);
    assert.equal((await held).status, 200);
  });

  test('one answer that comes to two sessions at two dispatchers at once is billed once', async () => {
    const orders = [await openSession(), await openSession()] as const;
    for (let round = 0; round < 10; round += 1) {
      holds = true;
      answerId = () => `msg_same_${round}`;
      const asked = [ask(0, orders[0]), ask(1, orders[1])];
      await upstreamHolds(2);
      answerAll();
      await Promise.all(asked);
    }
    for (const order of orders)
      await within(30_000, 'all are settled', async () =>
        (await usageOf(order)).every(({ state }) => state === 'settled'),
      );
    const rows = [...(await usageOf(orders[0])), ...(await usageOf(orders[1]))];
    assert.equal(rows.length, 20);
    assert.equal(rows.filter(({ usd }) => usd === '0.002').length, 10);
    assert.equal(rows.filter(({ usd }) => usd === '0').length, 10);
  });
});
