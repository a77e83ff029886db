import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { reviewChain, sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { gatewayBodyLimit } from '../../http/gateway-fault.ts';
import { registerGatewayRoutes } from '../../http/gateway-routes.ts';
import type { GatewayDeps } from '../../http/gateway-routes.ts';
import { serveServers } from '../../testing/traffic/apps.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { TestSessionOptions } from '../../testing/traffic/session.ts';
import { logPage } from '../events/log-page.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { modelEndpoints } from '../ports/model-provider.ts';
import type { ModelProvider, ModelRequest } from '../ports/model-provider.ts';
import { endSession } from '../sessions/end-session.ts';
import { abortLostExchanges, sayAlive } from './gateway-alive.ts';
import { createGates } from './gates.ts';
import { createOpenExchanges } from './open-exchanges.ts';
import { reapExchanges, settleAttempt } from './reap-exchanges.ts';

const model = 'scripted-1';
const event = (data: object & { type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const start = (id: string): string =>
  event({
    type: 'message_start',
    message: { id, model, usage: { input_tokens: 100, output_tokens: 1, cache_read_input_tokens: 40 } },
  } as never);
const delta = event({ type: 'message_delta', usage: { output_tokens: 20 } } as never);
const stop = event({ type: 'message_stop' });
const answer = (id: string): string[] => [start(id), event({ type: 'ping' }), delta, stop];

/** A provider that answers as the test says, one function an exchange. */
type Play = (asked: ModelRequest) => AsyncIterable<string> | Iterable<string>;
let play: Play = () => [];
let status = 200;
const aborted: unknown[] = [];
const provider: ModelProvider = {
  name: 'scripted',
  endpoints: new Set(modelEndpoints),
  send: async (asked) => {
    asked.signal.addEventListener('abort', () => aborted.push(asked.body['metadata']));
    const played = play(asked);
    return {
      status,
      headers: { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' },
      body: (async function* () {
        for await (const text of played) yield Buffer.from(text);
      })(),
    };
  },
};

let record: TestRecord;
let app: Awaited<ReturnType<typeof serveServers>>;
let deps: GatewayDeps;
before(async () => {
  record = await createTestRecord();
  deps = {
    ...record,
    priceBook: readPinnedPriceBook(),
    open: createOpenExchanges(),
    gates: createGates({ clock: record.clock, log: record.log, newHolder: randomUUID, sharedRooms: null }),
    gatewayId: 'gw_test',
    idleMs: 400,
    exchangeMs: 60_000,
    providerOf: (name) => (name === model ? provider : undefined),
  };
  app = await serveServers(record.newId, (registered) => registerGatewayRoutes(registered, deps));
});
after(async () => {
  await app.close();
  await record.close();
});

let tokens = 0;
async function openSession(
  options: TestSessionOptions = {},
): Promise<{ claim: AttemptClaim; token: string }> {
  tokens += 1;
  const token = `relay-token-${tokens}`;
  const relayTokenHash = createHash('sha256').update(token).digest('hex');
  return { claim: await openTestSession(record, { ...options, model, relayTokenHash }), token };
}

async function ask(
  token: string,
  more: object = {},
  server: 'a' | 'b' = 'a',
  path = '/model/anthropic/v1/messages?beta=true',
  method = 'POST',
): Promise<IncomingMessage> {
  const body = JSON.stringify({
    model,
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'go on' }],
    stream: true,
    ...more,
  });
  const sent = request({
    host: '127.0.0.1',
    port: app.port,
    path,
    method,
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    agent: false,
    ...app.servers[server],
  });
  sent.end(method === 'POST' ? body : undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** Announces a body of the length and sends none of it. */
async function askWithLength(token: string, length: number): Promise<IncomingMessage> {
  const sent = request({
    host: '127.0.0.1',
    port: app.port,
    path: '/model/anthropic/v1/messages',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': token, 'content-length': length },
    agent: false,
    ...app.servers.a,
  });
  sent.flushHeaders();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function errorOf(
  response: IncomingMessage,
): Promise<{ status: number; type: string; message: string }> {
  const body = JSON.parse(await textOf(response)) as {
    type: string;
    error: { type: string; message: string };
  };
  assert.equal(body.type, 'error');
  return { status: response.statusCode ?? 0, type: body.error.type, message: body.error.message };
}

interface UsageRow extends Record<string, unknown> {
  readonly state: string;
  readonly complete: boolean | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cost_usd: string | null;
}
async function usageOf(claim: AttemptClaim): Promise<UsageRow[]> {
  return record.database.query<UsageRow>(
    `SELECT state, complete, input_tokens, output_tokens, cache_read_tokens, trim_scale(cost_usd)::text AS cost_usd
     FROM usage WHERE session_id = $1 ORDER BY begun_at`,
    [claim.sessionId],
  );
}
/** The settled rows, once the relay has written them. */
async function settledUsage(claim: AttemptClaim): Promise<UsageRow[]> {
  await deps.open.settled(claim, 5_000);
  return usageOf(claim);
}

test('an answer is relayed byte for byte, counted, priced, audited and told', async () => {
  const { claim, token } = await openSession();
  let begun: UsageRow[] = [];
  play = async function* () {
    begun = await usageOf(claim);
    // Cut in the middle of an event and of a character.
    const bytes = [...answer('msg_1'), event({ type: 'note', text: 'é' } as never)].join('');
    yield bytes.slice(0, 57);
    yield bytes.slice(57);
  };
  const response = await ask(token);
  assert.equal(
    await textOf(response),
    [...answer('msg_1'), event({ type: 'note', text: 'é' } as never)].join(''),
  );
  assert.deepEqual(
    begun.map((row) => row.state),
    ['begun'],
  );
  // 100 × 1 + 20 × 5 + 40 × 0.1 dollars for a million tokens
  assert.deepEqual(await settledUsage(claim), [
    {
      state: 'settled',
      complete: true,
      input_tokens: 100,
      output_tokens: 20,
      cache_read_tokens: 40,
      cost_usd: '0.000204',
    },
  ]);
  const { events } = await logPage(record, claim.sessionId, { after: 0 }, 10);
  assert.deepEqual(events.at(-1)?.event, {
    type: 'usage',
    model,
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 40,
    cacheWriteTokens: 0,
    totalCostUsd: '0.000204',
    priced: true,
  });
  const entry = (await chainEntries(record, sessionChain(claim.sessionId))).at(-1);
  assert.equal(entry?.type, 'model.exchanged');
  assert.deepEqual([entry.body['outputTokens'], entry.body['costUsd']], [20, '0.000204']);
});

test('an answer without streaming is counted from its body', async () => {
  const { claim, token } = await openSession();
  const body = JSON.stringify({
    type: 'message',
    id: 'msg_json',
    model,
    usage: { input_tokens: 7, output_tokens: 3 },
  });
  const json: ModelProvider = {
    ...provider,
    send: async () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield Buffer.from(body.slice(0, 20));
        yield Buffer.from(body.slice(20));
      })(),
    }),
  };
  const before = deps.providerOf;
  Object.assign(deps, { providerOf: () => json });
  try {
    assert.equal(await textOf(await ask(token, { stream: false })), body);
  } finally {
    Object.assign(deps, { providerOf: before });
  }
  const [row] = await settledUsage(claim);
  assert.deepEqual([row?.input_tokens, row?.output_tokens, row?.complete], [7, 3, true]);
});

test('a wrong token, a foreign server, a stale attempt and another model are refused in the provider’s shape', async () => {
  const { claim, token } = await openSession();
  assert.equal((await errorOf(await ask('wrong'))).status, 401);
  const foreign = await errorOf(await ask(token, {}, 'b'));
  assert.deepEqual([foreign.status, foreign.type], [401, 'authentication_error']);
  assert.equal((await errorOf(await ask(token, { model: 'claude-opus-4-6' }))).type, 'permission_error');
  assert.equal((await errorOf(await ask(token, { mcp_servers: [] }))).type, 'invalid_request_error');
  assert.equal((await errorOf(await ask(token, { max_tokens: 'many' }))).status, 400);
  await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [claim.sessionId]);
  assert.equal((await errorOf(await ask(token))).status, 409);
  assert.deepEqual(await usageOf(claim), []);
});

test('bad input is refused in the provider’s shape, before the provider hears of it and before anything is reserved', async () => {
  const { claim, token } = await openSession();
  const ended = await openSession();
  await record.database.transaction((tx) =>
    endSession(record, tx, { sessionId: ended.claim.sessionId, reason: 'stopped', message: 'stopped' }),
  );
  const nobody = await openSession();
  await record.database.query(`UPDATE sessions SET model = 'unknown-1' WHERE id = $1`, [
    nobody.claim.sessionId,
  ]);
  let heard = 0;
  play = () => {
    heard += 1;
    return answer('msg_bad_input');
  };
  for (const [faulty, more, status, type, says] of [
    [nobody.token, { model: 'unknown-1' }, 404, 'not_found_error', /unknown-1/],
    [token, { model: 'claude-opus-4-6' }, 403, 'permission_error', /claude-opus-4-6/],
    [ended.token, {}, 409, 'permission_error', new RegExp(ended.claim.sessionId)],
    [`${token}x`, {}, 401, 'authentication_error', /relay token/],
    ['', {}, 401, 'authentication_error', /relay token/],
  ] as const) {
    const refused = await errorOf(await ask(faulty, more));
    assert.deepEqual([refused.status, refused.type], [status, type]);
    assert.match(refused.message, says);
  }
  // Its length alone refuses it: nothing of it has to be sent.
  const large = await errorOf(await askWithLength(token, gatewayBodyLimit + 1));
  assert.deepEqual([large.status, large.type], [413, 'request_too_large']);
  assert.match(large.message, /33554432 bytes/);
  assert.equal(heard, 0);
  for (const one of [claim, ended.claim, nobody.claim]) assert.deepEqual(await usageOf(one), []);
});

test('a stream that is no stream is relayed as it came, costs nothing that was not told, and keeps its reservation', async () => {
  const garbage =
    'event: message_start\ndata: {"type":"message_start","message":{"id":\n\n\0\0<html>oops\n\n';
  const { claim, token } = await openSession();
  play = () => [garbage];
  assert.equal(await textOf(await ask(token)), garbage);
  assert.deepEqual(
    (await settledUsage(claim)).map((row) => [row.state, row.complete, row.output_tokens, row.cost_usd]),
    [['cut', false, 0, '0']],
  );
  const [held] = await record.database.query(
    'SELECT reserved_usd > 0 AS held FROM usage WHERE session_id = $1',
    [claim.sessionId],
  );
  assert.equal(held?.['held'], true);
});

test('a stream that is nothing but the provider’s refusal is whole and free', async () => {
  const { claim, token } = await openSession();
  play = () => [event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } } as never)];
  await textOf(await ask(token));
  assert.deepEqual(
    (await settledUsage(claim)).map((row) => [row.state, row.complete, row.cost_usd]),
    [['settled', true, '0']],
  );
});

test('long histories pass', async () => {
  const { claim, token } = await openSession();
  let seen = 0;
  play = ({ body }) => {
    seen = JSON.stringify(body).length;
    return answer('msg_long');
  };
  const long = [{ role: 'user', content: 'é'.repeat(2_000_000) }];
  await textOf(await ask(token, { messages: long }));
  assert.ok(seen > 2_000_000);
  assert.equal((await settledUsage(claim)).length, 1);
});

test('a refusal of the provider is passed on and costs nothing', async () => {
  const { claim, token } = await openSession();
  status = 529;
  play = () => ['{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'];
  try {
    assert.deepEqual(await errorOf(await ask(token)), {
      status: 529,
      type: 'overloaded_error',
      message: 'busy',
    });
  } finally {
    status = 200;
  }
  const [row] = await settledUsage(claim);
  assert.deepEqual([row?.state, row?.cost_usd], ['settled', '0']);
});

test('a provider that cannot be reached is an error in its own shape, and the row is cut', async () => {
  const { claim, token } = await openSession();
  play = () => {
    throw new CodedError('provider_failed', 'no route');
  };
  assert.deepEqual(await errorOf(await ask(token)), { status: 502, type: 'api_error', message: 'no route' });
  const [row] = await settledUsage(claim);
  assert.deepEqual([row?.state, row?.complete], ['cut', false]);
});

test('an answer that breaks off is cut for the client too and keeps what was seen as a lower bound', async () => {
  const { claim, token } = await openSession();
  play = async function* () {
    yield start('msg_broken');
    throw new Error('reset');
  };
  await assert.rejects(textOf(await ask(token)));
  const [row] = await settledUsage(claim);
  assert.deepEqual(
    [row?.state, row?.complete, row?.input_tokens, row?.output_tokens],
    ['cut', false, 100, 1],
  );
  assert.ok(Number(row?.cost_usd) > 0);
});

test('a provider that falls silent is cut after its time', async () => {
  const { claim, token } = await openSession();
  play = async function* ({ signal }) {
    yield start('msg_silent');
    await once(signal, 'abort');
    throw signal.reason;
  };
  await assert.rejects(textOf(await ask(token)));
  const [row] = await settledUsage(claim);
  assert.deepEqual([row?.state, row?.input_tokens], ['cut', 100]);
});

test('a client that leaves aborts the provider and the row is settled as cut', async () => {
  const { claim, token } = await openSession();
  play = async function* ({ signal }) {
    yield start('msg_left');
    await once(signal, 'abort');
    throw signal.reason;
  };
  const response = await ask(token, { metadata: { user_id: 'leaver' } });
  await once(response, 'data');
  response.destroy();
  const [row] = await settledUsage(claim);
  assert.deepEqual([row?.state, row?.complete, row?.input_tokens], ['cut', false, 100]);
  assert.ok(aborted.some((metadata) => JSON.stringify(metadata) === '{"user_id":"leaver"}'));
});

test('a client that reads slowly holds the provider up', async () => {
  const { token } = await openSession();
  let produced = 0;
  play = function* () {
    yield start('msg_slow');
    for (; produced < 400; produced += 1) yield `: ${'x'.repeat(100_000)}\n\n`;
    yield stop;
  };
  const response = await ask(token);
  response.pause();
  // Everything that can flow without the reader has flowed once two looks see the same.
  let seen = -1;
  while (seen !== produced) {
    seen = produced;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(produced < 300, `${produced} of 400 chunks were taken without a reader`);
  assert.ok((await textOf(response)).endsWith(stop));
});

for (const [budgets, reason] of [
  [{ maxTokens: 100 }, 'budget_tokens'],
  [{ maxCostUsd: '0.0001' }, 'budget_cost'],
  [{ maxMinutes: 1, maxExtensions: 0 }, 'time_budget'],
] as const)
  test(`budgets of tokens, cost and time are asked before the provider: ${reason} ends with 402 and stops the session`, async () => {
    const { claim, token } = await openSession({ policy: { budgets } });
    let heard = 0;
    play = () => {
      heard += 1;
      return answer(`msg_${reason}_${heard}`);
    };
    await textOf(await ask(token));
    await settledUsage(claim);
    assert.equal(heard, 1);
    // a minute and a half later; tokens and cost do not mind
    await record.database.query(
      `UPDATE sessions SET running_at = running_at - interval '90 seconds' WHERE id = $1`,
      [claim.sessionId],
    );
    const refused = await errorOf(await ask(token));
    assert.deepEqual([refused.status, refused.type], [402, 'billing_error']);
    assert.match(refused.message, new RegExp(reason));
    assert.equal(heard, 1, 'the provider heard of what was refused');
    assert.equal((await usageOf(claim)).length, 1);
    const [row] = await record.database.query('SELECT stop_reason FROM sessions WHERE id = $1', [
      claim.sessionId,
    ]);
    assert.equal(row?.['stop_reason'], reason);
  });

test('a search without a bound of its own goes to the provider with one', async () => {
  const { claim, token } = await openSession({ policy: { providerTools: ['web_search'] } });
  let tools: unknown;
  play = ({ body }) => {
    ({ tools } = body);
    return answer('msg_search');
  };
  const search = { type: 'web_search_20250305', name: 'web_search' };
  await textOf(await ask(token, { tools: [search, { ...search, max_uses: 2 }] }));
  await settledUsage(claim);
  assert.deepEqual(tools, [
    { ...search, max_uses: 20 },
    { ...search, max_uses: 2 },
  ]);
});

test('a response that was told before is billed once', async () => {
  const { claim, token } = await openSession();
  play = () => answer('msg_twice');
  await textOf(await ask(token));
  await settledUsage(claim);
  await textOf(await ask(token));
  const rows = await settledUsage(claim);
  assert.deepEqual(
    rows.map((row) => [row.state, row.output_tokens, row.cost_usd]),
    [
      ['settled', 20, '0.000204'],
      ['settled', 0, '0'],
    ],
  );
  const entry = (await chainEntries(record, sessionChain(claim.sessionId))).at(-1);
  assert.match(String(entry?.body['sameResponseAs']), /^use_/);
});

test('a response that was cut and comes again whole is billed whole, where it was begun, and nowhere twice', async () => {
  const cut = async function* (id: string): AsyncGenerator<string> {
    yield start(id);
    throw new Error('the provider broke off');
  };
  const costOf = (claim: AttemptClaim) =>
    record.database.query(
      `SELECT usage_id AS id, sum(exchanges)::int AS exchanges, sum(incomplete)::int AS incomplete,
         sum(input_tokens)::int AS input, sum(output_tokens)::int AS output, sum(cache_read_tokens)::int AS cached,
         trim_scale(sum(input_usd + output_usd + cache_read_usd + cache_write_usd + other_usd))::text AS usd
       FROM cost_entries WHERE session_id = $1 GROUP BY usage_id ORDER BY usage_id`,
      [claim.sessionId],
    );
  const [one, other] = [await openSession(), await openSession()];
  for (const [id, again] of [
    ['msg_again', one],
    ['msg_of_another', other],
  ] as const) {
    const before = (await usageOf(one.claim)).length;
    play = () => cut(id);
    await textOf(await ask(one.token)).catch(() => '');
    const [broken] = (await settledUsage(one.claim)).slice(before);
    assert.deepEqual([broken?.state, broken?.output_tokens], ['cut', 1]);
    play = () => answer(id);
    // A third time nothing more is learnt.
    for (let time = 0; time < 2; time += 1)
      assert.match(await textOf(await ask(again.token)), /message_stop/);
    await settledUsage(again.claim);
    const [whole] = (await settledUsage(one.claim)).slice(before);
    assert.deepEqual([whole?.state, whole?.output_tokens, whole?.cost_usd], ['settled', 20, '0.000204']);
    const [billed, ...repeats] = (await costOf(one.claim)).slice(before);
    const costs = { exchanges: 1, incomplete: 0, input: 100, output: 20, cached: 40, usd: '0.000204' };
    assert.deepEqual({ ...billed, id: '' }, { ...costs, id: '' });
    const nothing = { ...costs, input: 0, output: 0, cached: 0, usd: '0', id: '' };
    const bringers = again === one ? repeats : await costOf(other.claim);
    assert.deepEqual(
      bringers.map((entry) => ({ ...entry, id: '' })),
      [nothing, nothing],
    );
  }
  const log = await chainEntries(record, sessionChain(other.claim.sessionId));
  assert.match(String(log.at(-1)?.body['sameResponseAs']), /^use_/);
});

test('what nobody settles is cut: at the result at once, else by the reaper; later knowledge still counts', async () => {
  const { claim } = await openSession();
  const insert = (id: string): Promise<unknown> =>
    record.database.query(
      `INSERT INTO usage (id, session_id, attempt, provider, model, state, reserved_usd, begun_at)
       VALUES ($1, $2, 1, 'scripted', $3, 'begun', 1, now() - interval '1 hour')`,
      [id, claim.sessionId, model],
    );
  await insert('use_old');
  assert.equal(await reapExchanges(deps), 1);
  assert.equal(await reapExchanges(deps), 0);
  await insert('use_at_result');
  await settleAttempt(deps, claim);
  assert.deepEqual(
    (await usageOf(claim)).map((row) => [row.state, row.complete]),
    [
      ['cut', false],
      ['cut', false],
    ],
  );
});

test('a result that another dispatcher takes waits for the exchange that is settled here', async () => {
  const { claim, token } = await openSession();
  await sayAlive(deps);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  play = async function* () {
    yield start('msg_elsewhere');
    await released;
    yield delta + stop;
  };
  const response = await ask(token);
  await once(response, 'data');
  let looks = 0;
  const other = {
    ...deps,
    gatewayId: 'gw_other',
    open: createOpenExchanges(),
    // Its second look is the first after it has begun to wait.
    database: {
      ...record.database,
      query: async <Row extends Record<string, unknown>>(text: string, values?: readonly unknown[]) => {
        const rows = await record.database.query<Row>(text, values);
        looks += 1;
        if (looks === 2) release();
        return rows;
      },
    },
  };
  await settleAttempt(other, claim);
  const rows = await usageOf(claim);
  release();
  await textOf(response);
  assert.deepEqual(
    rows.map((row) => [row.state, row.complete, row.output_tokens]),
    [['settled', true, 20]],
  );
});

test('what was seen of an answer counts also where another dispatcher has cut it meanwhile', async () => {
  const { claim, token } = await openSession();
  play = async function* () {
    yield start('msg_cut_elsewhere');
    // Nobody has heard of this dispatcher for long, so the other one does not wait.
    await settleAttempt({ ...deps, gatewayId: 'gw_other', open: createOpenExchanges() }, claim);
    throw new Error('reset');
  };
  await record.database.query(`DELETE FROM gateways`);
  await assert.rejects(textOf(await ask(token)));
  const [row] = await settledUsage(claim);
  assert.deepEqual(
    [row?.state, row?.complete, row?.input_tokens, row?.output_tokens],
    ['cut', false, 100, 1],
  );
  assert.ok(Number(row?.cost_usd) > 0);
  const [entry] = await record.database.query(
    `SELECT sum(exchanges)::int AS exchanges, sum(incomplete)::int AS incomplete,
       sum(input_tokens)::int AS input FROM cost_entries WHERE session_id = $1`,
    [claim.sessionId],
  );
  assert.deepEqual(entry, { exchanges: 1, incomplete: 1, input: 100 });
});

test('an exchange of a session that was stopped meanwhile stands in the review chain', async () => {
  const { claim, token } = await openSession();
  play = async function* () {
    yield start('msg_stopped');
    await record.database.transaction((tx) =>
      endSession(record, tx, { sessionId: claim.sessionId, reason: 'stopped', message: 'stopped' }),
    );
    yield delta + stop;
  };
  await textOf(await ask(token));
  const [row] = await settledUsage(claim);
  assert.equal(row?.state, 'settled');
  const own = await chainEntries(record, sessionChain(claim.sessionId));
  assert.equal(own.at(-1)?.type, 'chain.closed');
  const late = (await chainEntries(record, reviewChain('local'))).at(-1);
  assert.deepEqual([late?.type, late?.body['session']], ['model.exchanged', claim.sessionId]);
});

test('the OpenAI wires are relayed, counted and priced as their own', async () => {
  const chunk = (data: object): string => `data: ${JSON.stringify({ id: 'chatcmpl-1', model, ...data })}\n\n`;
  const usage = { prompt_tokens: 50, prompt_tokens_details: { cached_tokens: 40 }, completion_tokens: 5 };
  let asked: unknown;
  play = ({ body }) => {
    asked = body;
    return [chunk({ choices: [{ delta: {} }] }), chunk({ choices: [], usage }), 'data: [DONE]\n\n'];
  };
  const chat = await openSession();
  const message = { messages: [{ role: 'user', content: 'hi' }], max_tokens: undefined };
  const answered = await ask(chat.token, message, 'a', '/model/openai/v1/chat/completions');
  assert.match(await textOf(answered), /\[DONE\]/);
  assert.deepEqual((asked as { stream_options: unknown }).stream_options, { include_usage: true });
  const [row] = await settledUsage(chat.claim);
  assert.deepEqual([row?.input_tokens, row?.cache_read_tokens, row?.output_tokens], [10, 40, 5]);

  const responses = await openSession();
  const whole = { id: 'resp_1', model, status: 'completed', usage: { input_tokens: 9, output_tokens: 2 } };
  play = ({ body }) => {
    asked = body;
    return [event({ type: 'response.completed', response: whole } as never)];
  };
  const request = { messages: undefined, max_tokens: undefined, input: 'hi' };
  await textOf(await ask(responses.token, request, 'a', '/model/openai/v1/responses'));
  assert.equal((asked as { store: unknown }).store, false);
  assert.deepEqual(
    (await settledUsage(responses.claim)).map((row) => [row.state, row.input_tokens, row.output_tokens]),
    [['settled', 9, 2]],
  );
});

test('faults over the OpenAI wires have its shape', async () => {
  const { token } = await openSession();
  const path = '/model/openai/v1/responses';
  const tools = [{ type: 'web_search' }];
  const more = { messages: undefined, max_tokens: undefined, input: 'hi' };
  const refused = await ask(token, { ...more, tools }, 'a', path);
  const body = JSON.parse(await textOf(refused)) as { error: Record<string, unknown> };
  assert.deepEqual(
    [refused.statusCode, body.error['type'], body.error['param']],
    [400, 'invalid_request_error', 'tools.0.type'],
  );
  const spent = await openSession({ policy: { budgets: { maxCostUsd: '0.00000001' } } });
  const usage = { input_tokens: 9, output_tokens: 2 };
  const whole = { id: 'resp_spent', model, status: 'completed', usage };
  play = () => [event({ type: 'response.completed', response: whole } as never)];
  await textOf(await ask(spent.token, more, 'a', path));
  await settledUsage(spent.claim);
  const second = await ask(spent.token, more, 'a', path);
  const exhausted = JSON.parse(await textOf(second)) as { error: Record<string, unknown> };
  assert.deepEqual([second.statusCode, exhausted.error['type']], [402, 'insufficient_quota']);
});

test('counting tokens passes and is not billed', async () => {
  const { claim, token } = await openSession();
  play = () => ['{"input_tokens":12}'];
  const path = '/model/anthropic/v1/messages/count_tokens';
  const counted = await ask(token, { max_tokens: undefined, stream: undefined }, 'a', path);
  assert.equal(await textOf(counted), '{"input_tokens":12}');
  assert.deepEqual(await usageOf(claim), []);
});

test('models: a token is good for its session’s model and the small ones that the policy names', async () => {
  const rules = { smallModels: ['small-1'] };
  const { token } = await openSession({ policy: { gateway: rules } });
  const plain = await openSession();
  const before = deps.providerOf;
  Object.assign(deps, { providerOf: () => provider });
  try {
    play = () => answer('msg_small');
    assert.equal((await ask(token, { model: 'small-1' })).statusCode, 200);
    assert.equal((await errorOf(await ask(plain.token, { model: 'small-1' }))).status, 403);
    const list = await ask(token, {}, 'a', '/model/openai/v1/models', 'GET');
    const { data } = JSON.parse(await textOf(list)) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      [model, 'small-1'],
    );
  } finally {
    Object.assign(deps, { providerOf: before });
  }
});

test('a fallback answers only where the policy names one, under a row of its own, and is recorded', async () => {
  const busy: ModelProvider = {
    ...provider,
    name: 'busy',
    send: async () => ({
      status: 529,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield Buffer.from('{"type":"error","error":{"type":"overloaded_error","message":"busy"}}');
      })(),
    }),
  };
  const before = deps.providerOf;
  Object.assign(deps, { providerOf: (name: string) => (name === model ? busy : provider) });
  try {
    const plain = await openSession();
    assert.equal((await errorOf(await ask(plain.token))).status, 529);
    const { claim, token } = await openSession({
      policy: { gateway: { fallbackModels: { [model]: 'other-1' } } },
    });
    let asked: unknown;
    play = ({ body }) => {
      asked = body['model'];
      return answer('msg_fallback');
    };
    assert.equal((await ask(token)).statusCode, 200);
    assert.equal(asked, 'other-1');
    await settledUsage(claim);
    const rows = await record.database.query(
      'SELECT provider, model, fallback_for, state FROM usage WHERE session_id = $1 ORDER BY begun_at',
      [claim.sessionId],
    );
    assert.deepEqual(rows, [
      { provider: 'busy', model, fallback_for: null, state: 'settled' },
      { provider: 'scripted', model: 'other-1', fallback_for: model, state: 'settled' },
    ]);
    const entry = (await chainEntries(record, sessionChain(claim.sessionId))).at(-1);
    assert.equal(entry?.body['fallbackFor'], model);
  } finally {
    Object.assign(deps, { providerOf: before });
  }
});

test('a refusal without an end does not keep the model that stands by from answering', async () => {
  let given = 0;
  let left = false;
  const flooding: ModelProvider = {
    ...provider,
    name: 'flooding',
    send: async () => ({
      status: 503,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        try {
          for (; given < 1_000; given += 1) yield Buffer.alloc(16_384);
        } finally {
          left = true;
        }
      })(),
    }),
  };
  const before = deps.providerOf;
  Object.assign(deps, { providerOf: (name: string) => (name === model ? flooding : provider) });
  try {
    const { token } = await openSession({
      policy: { gateway: { fallbackModels: { [model]: 'other-1' } } },
    });
    play = () => answer('msg_behind_a_flood');
    assert.equal((await ask(token)).statusCode, 200);
    assert.deepEqual({ given, left }, { given: 4, left: true });
  } finally {
    Object.assign(deps, { providerOf: before });
  }
});

test('exchanges of a lost attempt are cut while they run', async () => {
  const { claim, token } = await openSession();
  play = async function* ({ signal }) {
    yield start('msg_lost');
    await once(signal, 'abort');
    throw signal.reason;
  };
  const response = await ask(token);
  await once(response, 'data');
  assert.equal(await abortLostExchanges(deps), 0);
  await record.database.query(`UPDATE attempts SET state = 'lost' WHERE session_id = $1`, [claim.sessionId]);
  assert.equal(await abortLostExchanges(deps), 1);
  await assert.rejects(textOf(response));
  assert.equal((await settledUsage(claim))[0]?.state, 'cut');
});

test('what a dead dispatcher left open is settled within half a minute, what a living one relays is not', async () => {
  const { claim } = await openSession();
  await sayAlive({ ...deps, gatewayId: 'gw_alive' });
  await record.database.query(
    `INSERT INTO gateways (id, seen_at) VALUES ('gw_dead', now() - interval '25 seconds')`,
  );
  for (const gateway of ['gw_alive', 'gw_dead'])
    await record.database.query(
      `INSERT INTO usage (id, session_id, attempt, provider, model, state, reserved_usd, begun_at, gateway)
       VALUES ($1, $2, 1, 'scripted', $3, 'begun', 1, now() - interval '1 minute', $4)`,
      [`use_of_${gateway}`, claim.sessionId, model, gateway],
    );
  assert.equal(await reapExchanges(deps), 1);
  const rows = await record.database.query(
    'SELECT gateway, state FROM usage WHERE session_id = $1 ORDER BY id',
    [claim.sessionId],
  );
  assert.deepEqual(rows, [
    { gateway: 'gw_alive', state: 'begun' },
    { gateway: 'gw_dead', state: 'cut' },
  ]);
});
