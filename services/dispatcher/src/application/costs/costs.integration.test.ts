import assert from 'node:assert/strict';
import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { focusColumns } from '@lemniscate/shared/costs/focus.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { noTokens } from '@lemniscate/shared/model/usage.ts';
import { registerCostAdminRoutes } from '../../http/costs-admin-routes.ts';
import { registerCostRoutes } from '../../http/costs-routes.ts';
import { foldAll } from '../../testing/traffic/costs.ts';
import { createTestExchanges } from '../../testing/traffic/exchanges.ts';
import { servePeople } from '../../testing/traffic/apps.ts';
import type { TestApp } from '../../testing/traffic/apps.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { chainEntries, openTestSession } from '../../testing/traffic/session.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import { beginExchange } from '../gateway/begin-exchange.ts';
import { settleExchange } from '../gateway/settle-exchange.ts';
import { returnSlices } from './budgets.ts';
import { correctCosts } from './correct-costs.ts';
import { appendComputeCosts, foldCosts, rebuildCosts } from './fold-costs.ts';
import { reportCosts } from './report-costs.ts';

const model = 'scripted-1';
const span = { from: '2000-01-01', to: '2100-01-01' };
const priceBook = readPinnedPriceBook();
let record: TestRecord;
let app: TestApp;
before(async () => {
  record = await createTestRecord();
  app = await servePeople(record.newId, (routes) => {
    registerCostRoutes(routes, record);
    registerCostAdminRoutes(routes, { ...record, priceBook });
  });
});
after(async () => {
  await app.close();
  await record.close();
});

const facts = { provider: 'scripted', prices: 'scripted', model, fallbackFor: null };
const begin = (claim: AttemptClaim, maxTokens = 1_000): Promise<string> =>
  beginExchange({ ...record, priceBook, gatewayId: 'gw_test' }, claim, {
    ...facts,
    endpoint: 'anthropic-messages',
    requestBytes: 10,
    webSearches: 0,
    maxTokens,
    at: Date.now(),
  });
let responses = 0;
const settle = (
  usageId: string,
  claim: AttemptClaim,
  tokens: object,
  complete = true,
  webSearches = 0,
): Promise<boolean> =>
  settleExchange(
    { ...record, priceBook },
    {
      ...facts,
      usageId,
      claim,
      at: Date.now(),
      complete,
      responses: [
        {
          responseId: `msg_${(responses += 1)}`,
          servedModel: model,
          tier: { serviceTier: null, speed: null, region: null },
          parts: [{ model: null, tokens: { ...noTokens, ...tokens } }],
          webSearches,
          complete,
        },
      ],
    },
  );
const spend = async (claim: AttemptClaim, tokens: object): Promise<void> => {
  await settle(await begin(claim), claim, tokens);
};

async function call(method: string, path: string, body?: unknown, who = 'ada', seen?: number) {
  const sent = request({
    host: '127.0.0.1',
    port: app.port,
    method,
    path,
    headers: {
      authorization: `Bearer ${who}`,
      'content-type': 'application/json',
      ...(seen === undefined ? {} : { 'if-match': `"${seen}"` }),
    },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') };
}

test('what is settled is in the reports once it is folded, by every dimension, to the last digit', async () => {
  const [one, other] = [await openTestSession(record), await openTestSession(record)];
  await spend(one, { inputTokens: 333, outputTokens: 7 });
  await spend(one, { cacheReadTokens: 11 });
  await spend(other, { outputTokens: 1 });
  await foldAll(record.database);
  for (const groupBy of [
    'project',
    'agent',
    'user',
    'model',
    'runtime',
    'provider',
    'day',
    'session',
  ] as const) {
    const { total, rows } = await reportCosts(record.database, groupBy, span, 100);
    // 333 × 1 + 7 × 5 + 11 × 0.1 + 1 × 5 dollars for a million tokens
    assert.equal(total.totalUsd, '0.0003741', groupBy);
    assert.equal(rows.length, groupBy === 'session' ? 2 : 1, groupBy);
    assert.equal(total.exchanges, 3);
  }
  const { text } = await call('GET', '/v1/costs?groupBy=session&from=2000-01-01&to=2100-01-01&format=csv');
  assert.match(text, new RegExp(`^session,exchanges.*\r\n${one.sessionId},2,`));
});

const rollupOrders = {
  cost_days: 'day, model, provider, subject',
  cost_sessions: 'day, model, provider, session_id, kind',
  cost_session_days: 'day, session_id',
  cost_served_days: 'day, provider, model, served_model',
} as const;
/** Every row of every rollup. */
const readRollups = async (): Promise<unknown> =>
  Promise.all(
    Object.entries(rollupOrders).map(([table, order]) =>
      record.database.query(`SELECT * FROM ${table} ORDER BY ${order}`),
    ),
  );

test('a rebuild gives the same rollups as the folds did', async () => {
  await appendComputeCosts(record.database);
  await foldAll(record.database);
  const folded = await readRollups();
  await record.database.query('UPDATE cost_days SET input_usd = input_usd + 1');
  assert.notDeepEqual(await readRollups(), folded);
  await rebuildCosts(record.database);
  assert.deepEqual(await readRollups(), folded);
  const [sessions] = await record.database.query(
    'SELECT trim_scale(sum(total_usd))::text AS usd FROM cost_session_days',
  );
  assert.equal((await reportCosts(record.database, 'session', span, 10)).total.totalUsd, sessions?.['usd']);
  const [detail] = await record.database.query('SELECT trim_scale(sum(cost_usd))::text AS usd FROM usage');
  const { total } = await reportCosts(record.database, 'day', span, 10);
  assert.equal(total.tokensUsd, detail?.['usd']);
});

test('what a dispatcher of the version before folded is added to the rollups that it does not know', async () => {
  const claim = await openTestSession(record);
  await settle(await begin(claim), claim, {}, true, 3);
  await foldAll(record.database);
  const folded = await readRollups();
  const [counted] = await record.database.query('SELECT sum(requests)::int AS n FROM cost_sessions');
  assert.equal(counted?.['n'], 3);
  await record.database.query('DELETE FROM cost_session_days');
  await record.database.query('DELETE FROM cost_served_days');
  await record.database.query('UPDATE cost_sessions SET requests = 0');
  await record.database.query(`UPDATE cost_fold SET session_days_xid = '0', served_xid = '0'`);
  await foldAll(record.database);
  await foldCosts(record.database);
  assert.deepEqual(await readRollups(), folded);
});

test('an entry is never changed', async () => {
  await assert.rejects(record.database.query('DELETE FROM cost_entries'));
  await assert.rejects(record.database.query('UPDATE cost_entries SET input_usd = 0'));
});

test('what was cut and became known later is counted once', async () => {
  const claim = await openTestSession(record);
  const usageId = await begin(claim);
  await settleExchange(
    { ...record, priceBook },
    {
      ...facts,
      usageId,
      claim,
      at: Date.now(),
      complete: false,
      responses: [],
    },
  );
  await settle(usageId, claim, { outputTokens: 10 });
  await foldAll(record.database);
  const { rows } = await reportCosts(record.database, 'session', span, 100);
  const row = rows.find(({ group }) => group === claim.sessionId);
  assert.deepEqual([row?.exchanges, row?.incomplete, row?.totalUsd], [1, 0, '0.00005']);
});

test('a budget of a project is never overshot by sessions in parallel, and refuses with its name', async () => {
  const price = '0.0052';
  assert.equal(
    (await call('PUT', '/v1/costs/budgets/project/local', { amountUsd: '0.5' }, 'robot')).status,
    403,
  );
  const claims = await Promise.all(Array.from({ length: 6 }, () => openTestSession(record)));
  assert.equal(
    (await call('PUT', '/v1/costs/budgets/project/local', { amountUsd: '0.1' }, 'ada', 0)).status,
    200,
  );
  const begun: { id: string; claim: AttemptClaim }[] = [];
  let refused = 0;
  const beginUntilRefused = async (claim: AttemptClaim): Promise<void> => {
    for (let index = 0; index < 6; index += 1) begun.push({ id: await begin(claim, 1_000), claim });
  };
  await Promise.all(
    claims.map((claim) =>
      beginUntilRefused(claim).catch((error: unknown) => {
        assert.match(String(error), /project local has used up its 0.1 US dollars/);
        refused += 1;
      }),
    ),
  );
  const [held] = await record.database.query<{ usd: string }>(
    `SELECT trim_scale(sum(reserved_usd))::text AS usd FROM usage WHERE id = ANY ($1)`,
    [begun.map(({ id }) => id)],
  );
  assert.ok(Number(held?.usd) <= 0.1, `${held?.usd} was reserved`);
  assert.ok(begun.length >= Math.floor(0.1 / Number(price)) - 6, `${begun.length} of 36 began`);
  assert.ok(refused > 0);
  const { budgets } = JSON.parse((await call('GET', '/v1/costs/budgets')).text) as {
    budgets: { state: string; grantedUsd: string; version: number }[];
  };
  assert.notEqual(budgets[0]?.state, 'ok');
  assert.ok(Number(budgets[0]?.grantedUsd) <= 0.1);
  // What is settled for less comes back when the sessions end, and the warning is told once.
  for (const { id, claim } of begun) await settle(id, claim, { outputTokens: 1 });
  await record.database.query(
    `UPDATE sessions SET state = 'completed', ended_at = now() - interval '1 minute' WHERE id = ANY ($1)`,
    [claims.map(({ sessionId }) => sessionId)],
  );
  await record.database.query(
    `INSERT INTO role_bindings (kind, principal, role, project_id, bound_by) VALUES
       ('person', 'frances', 'finops', '*', 'p'), ('person', 'alex', 'project_admin', 'local', 'p'),
       ('person', 'elsewhere', 'project_admin', 'other', 'p'), ('person', 'mo', 'member', 'local', 'p')`,
  );
  assert.equal((await returnSlices(record.database, record.newId)).warned.length, 1);
  assert.equal((await returnSlices(record.database, record.newId)).warned.length, 0);
  const told = await record.database.query<{ subject: string; kind: string; title: string }>(
    `SELECT subject, kind, title FROM inbox_items ORDER BY subject`,
  );
  const [opener] = await record.database.query<{ opened_by: string }>(
    'SELECT opened_by FROM sessions WHERE id = $1',
    [claims[0]?.sessionId],
  );
  assert.equal(told.length, 3);
  assert.deepEqual(
    new Set(told.map(({ subject }) => subject)),
    new Set(['alex', 'frances', opener?.opened_by]),
    'whoever answers for it and whose sessions use it, once, and nobody else',
  );
  assert.ok(told.every(({ kind }) => kind === 'budget'));
  assert.match(told[0]?.title ?? '', /^The budget of project local has come to its warning: /);
  const [budget] = await record.database.query<{ usd: string }>(
    'SELECT granted_usd::float AS usd FROM cost_budgets',
  );
  assert.ok(Number(budget?.usd) < 0.01, `${budget?.usd} is still granted`);
  // what sessions held of it meanwhile is not a change of the budget
  const removed = { amountUsd: null };
  assert.equal(
    (await call('PUT', '/v1/costs/budgets/project/local', removed, 'ada', budgets[0]?.version)).text,
    '{"version":0}',
  );
});

test('a correction appends the difference once, and FOCUS marks it where its month was over', async () => {
  const claim = await openTestSession(record);
  await spend(claim, { outputTokens: 1_000_000 });
  const wrong = {
    provider: 'scripted',
    model,
    from: '2000-01-01',
    to: '2100-01-01',
    reason: 'the list price was 6',
    prices: { models: { [model]: { perMTok: { input: 1, output: 6, cacheRead: 0.1 } } } },
  };
  const corrected = await call('POST', '/v1/costs/corrections', wrong);
  assert.equal(corrected.status, 200, corrected.text);
  const first = JSON.parse(corrected.text) as { corrected: number; differenceUsd: string };
  assert.ok(first.corrected >= 1);
  assert.ok(Number(first.differenceUsd) >= 1);
  const again = JSON.parse((await call('POST', '/v1/costs/corrections', wrong)).text) as {
    corrected: number;
  };
  assert.equal(again.corrected, 0);
  await foldAll(record.database);
  const { rows } = await reportCosts(record.database, 'session', span, 100);
  assert.equal(rows.find(({ group }) => group === claim.sessionId)?.totalUsd, '6');
  const { text } = await call('GET', '/v1/costs/export?from=2000-01-01&to=2100-01-01');
  const lines = text.trimEnd().split('\r\n');
  assert.equal(lines[0], focusColumns.map(({ name }) => name).join(','));
  const column = (name: string): number => focusColumns.findIndex((one) => one.name === name);
  const amended = lines.map((line) => line.split(',')).filter((cells) => cells[0] === '1');
  assert.deepEqual(
    amended.map((cells) => [cells[column('ChargeClass')], cells[column('PricingQuantity')]]),
    [['', '0']],
  );
  assert.ok(lines.slice(1).every((line) => line.includes('""repository"":""/r""')));
  // Of a month that was over long before it was put right.
  await record.database.query(
    `INSERT INTO cost_entries (kind, session_id, day, project_id, agent, subject, runtime, provider, model, output_usd)
     VALUES ('correction', $1, '2020-01-15', 'local', 'default', 'p', 'native', 'scripted', $2, 2.5)`,
    [claim.sessionId, model],
  );
  await foldAll(record.database);
  const past = await call('GET', '/v1/costs/export?from=2020-01-01&to=2020-02-01');
  const [, corrections = ''] = past.text.trimEnd().split('\r\n');
  assert.ok(corrections.startsWith('2.5,') && corrections.includes(',Correction,'), past.text);
  const negative = { ...wrong, prices: { models: { [model]: { perMTok: { input: -1, output: 6 } } } } };
  assert.equal((await call('POST', '/v1/costs/corrections', negative)).status, 400);
  // With the book as it was nothing stays corrected.
  await record.database.transaction((tx) => correctCosts(tx, { ...wrong, reason: 'back' }, priceBook));
});

test('a given price holds for the ids under which the same model is served', async () => {
  const asked = 'claude-haiku-4-5';
  const claim = await openTestSession(record);
  await createTestExchanges(record).spend(claim, asked, { servedModel: `${asked}-20251001` });
  const { text } = await call('POST', '/v1/costs/corrections', {
    provider: 'anthropic',
    model: asked,
    from: '2000-01-01',
    to: '2100-01-01',
    reason: 'as agreed',
    prices: { models: { [asked]: { perMTok: { input: 1, output: 4 } } } },
  });
  assert.deepEqual(JSON.parse(text), { corrected: 1, differenceUsd: '-1', leftOut: 0 });
});

test('a pool’s slots cost its price, and cost centres stand on what comes after', async () => {
  assert.equal((await call('PUT', '/v1/costs/centres/local', { costCentre: 'CC-7' }, 'ada', 0)).status, 200);
  assert.equal(
    (await call('PUT', '/v1/costs/centres/nowhere', { costCentre: 'CC-7' }, 'ada', 0)).status,
    404,
  );
  const pool = { fromDay: '2000-01-01', usdPerSlotHour: '0.36' };
  assert.equal((await call('PUT', '/v1/costs/pools/default', pool, 'ada', 0)).status, 200);
  await record.database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ('server-a', 'https://a', 'default', 4)`,
  );
  const claim = await openTestSession(record);
  await record.database.query(
    `UPDATE attempts SET state = 'ended', created_at = now() - interval '100 seconds', ended_at = now()
     WHERE session_id = $1`,
    [claim.sessionId],
  );
  await appendComputeCosts(record.database);
  assert.equal(await appendComputeCosts(record.database), 0);
  await foldAll(record.database);
  const { rows } = await reportCosts(record.database, 'session', span, 100);
  const row = rows.find(({ group }) => group === claim.sessionId);
  assert.deepEqual([row?.slotSeconds, row?.computeUsd], ['100', '0.01']);
  const centres = await reportCosts(record.database, 'costCentre', span, 10);
  assert.ok(centres.rows.some(({ group, computeUsd }) => group === 'CC-7' && computeUsd === '0.01'));
});

test('a bill is laid beside the record', async () => {
  const day = new Date().toISOString().slice(0, 10);
  const lines = [
    { day, provider: 'scripted', model, costUsd: '100' },
    { day, provider: 'scripted', model: 'never-used', costUsd: '1' },
  ];
  const { text } = await call('POST', '/v1/costs/reconciliations', { lines });
  const answer = JSON.parse(text) as {
    lines: { model: string; differenceUsd: string; recordedUsd: string }[];
  };
  assert.deepEqual(
    answer.lines.map((line) => [line.model, line.recordedUsd === '0']),
    [
      ['never-used', true],
      [model, false],
    ],
  );
});

test('cost of accepted diffs has the failed sessions in it; forecast and anomalies answer', async () => {
  const [accepted, failed] = [await openTestSession(record), await openTestSession(record)];
  await spend(accepted, { outputTokens: 1 });
  await spend(failed, { outputTokens: 1 });
  await record.database.query(
    `INSERT INTO diffs (session_id, summary, state) VALUES ($1, '{}', 'accepted')`,
    [accepted.sessionId],
  );
  await foldAll(record.database);
  const { projects } = JSON.parse((await call('GET', '/v1/costs/unit')).text) as {
    projects: { acceptedDiffs: number; totalUsd: string; usdPerAcceptedDiff: string; sessions: number }[];
  };
  assert.equal(projects[0]?.acceptedDiffs, 1);
  assert.ok((projects[0]?.sessions ?? 0) > 2);
  assert.ok(Math.abs(Number(projects[0]?.usdPerAcceptedDiff) - Number(projects[0]?.totalUsd)) < 0.000001);
  const forecast = JSON.parse((await call('GET', '/v1/costs/forecast')).text) as { spentUsd: string };
  assert.ok(Number(forecast.spentUsd) > 0);
  assert.equal((await call('GET', '/v1/costs/anomalies')).status, 200);
  assert.equal((await call('GET', '/v1/costs?groupBy=colour')).status, 400);
});

test('what people decided about costs is in the audit log, with who and what; a program’s try is not', async () => {
  const told = async (chain: string): Promise<Record<string, unknown>> => {
    const entries = await chainEntries(record, chain);
    return Object.fromEntries(entries.map(({ type, subject, body }) => [type, { subject, ...body }]));
  };
  await call('PUT', '/v1/costs/budgets/project/local', { amountUsd: '7.50' }, 'ada', 0);
  const review = await told('review:local');
  assert.deepEqual(review['budget.set'], {
    subject: 'ada',
    scope: 'project',
    name: 'local',
    amountUsd: '7.50',
  });
  const fleet = await told('fleet:main');
  assert.ok(fleet['price.set'] !== undefined);
  const { reasonCommitment, ...corrected } = z
    .looseObject({ reasonCommitment: z.string() })
    .parse(fleet['costs.corrected']);
  // why is a person's own words: they are kept with the costs, and the log commits to them
  assert.match(reasonCommitment, /^[0-9a-f]{64}$/);
  assert.doesNotMatch(JSON.stringify(corrected), /the list price was 6/);
  const [kept] = await record.database.query<{ reason: string }>(
    `SELECT reason FROM cost_entries WHERE kind = 'correction' AND reason = 'the list price was 6' LIMIT 1`,
  );
  assert.equal(kept?.reason, 'the list price was 6');
  assert.equal((await call('POST', '/v1/costs/rebuild', {})).status, 200);
  assert.ok((await told('fleet:main'))['admin.acted'] !== undefined);
  const before = (await chainEntries(record, 'review:local')).length;
  assert.equal(
    (await call('PUT', '/v1/costs/budgets/project/local', { amountUsd: '9' }, 'robot')).status,
    403,
  );
  assert.equal((await chainEntries(record, 'review:local')).length, before);
});
