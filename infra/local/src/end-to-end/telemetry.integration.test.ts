import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { z } from 'zod';
import { metricCatalogue } from '@lemniscate/shared/telemetry/metric-catalogue.ts';
import { scrapeFleet } from '../testing/scrape-fleet.ts';
import { startOtlpReceiver } from '../testing/otlp-receiver.ts';
import type { OtlpReceiver, ReceivedSpan } from '../testing/otlp-receiver.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { until } from '../testing/until.ts';
import { endFleet, runSession, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { FollowedSession, TestFleet } from './test-fleet.ts';

// One session in a fleet whose services send spans and metrics to a collector.

const promtool = '/usr/bin/promtool';
const noPromtool = existsSync(promtool) ? false : 'promtool: the package prometheus is not installed';

let collector: OtlpReceiver;
let site: TestFleet;
let session: FollowedSession;
const undo = undoneAfterTests();

before(async () => {
  collector = undo.adopt(await startOtlpReceiver(), (one) => one.close());
  site = undo.adopt(
    await startTestFleet({ ...collector.environment, LEMNISCATE_LOG_LEVEL: 'debug' }),
    endFleet,
  );
  session = await runSession(site, {
    repositoryFolder: sampleRepository(site.scratch, 'traced'),
    instruction: 'Fix the failing test.',
  });
});

const spansOf = (id: string): ReceivedSpan[] =>
  collector.spans.filter(({ attributes }) => attributes['gen_ai.conversation.id'] === id);

test('one trace goes from the API call over placement, turns, tools and models to the export', async () => {
  const { id } = session.session;
  const names = () => new Set(spansOf(id).map(({ name }) => name.split(' ')[0]));
  const wanted = ['place', 'invoke_agent', 'execute_tool', 'chat', 'export'];
  await until('spans of every step came', () => wanted.every((name) => names().has(name)), 20_000);
  const traceId = spansOf(id)[0]?.traceId;
  assert.deepEqual([...new Set(spansOf(id).map((span) => span.traceId))], [traceId]);

  const trace = collector.spans.filter((span) => span.traceId === traceId);
  const byId = new Map(trace.map((span) => [span.spanId, span]));
  const roots = trace.filter(({ parentSpanId }) => parentSpanId === null || parentSpanId === '');
  assert.deepEqual(
    roots.map(({ name }) => name),
    ['POST /v1/sessions'],
  );
  for (const span of trace)
    if (!roots.includes(span)) assert.ok(byId.has(span.parentSpanId ?? ''), `${span.name} hangs nowhere`);
  assert.deepEqual([...new Set(trace.map(({ service }) => service))].sort(), [
    'lemniscate-agent-server',
    'lemniscate-audit-exporter',
    'lemniscate-dispatcher',
  ]);

  /** The spans of a name, and for each what it hangs below, from the innermost to the call that began it all. */
  const above = (name: string): string[][] =>
    trace
      .filter((span) => span.name.startsWith(name))
      .map((span) => {
        const names: string[] = [];
        for (
          let at = byId.get(span.parentSpanId ?? '');
          at !== undefined;
          at = byId.get(at.parentSpanId ?? '')
        )
          names.push(at.name.replace(/^turn \d+$/, 'turn'));
        return names;
      });
  const placed = ['POST /v1/sessions'];
  const held = ['place session', ...placed];
  const attempted = ['invoke_agent native', ...held];
  const turned = ['turn', ...attempted];
  const chains = {
    // out of the queue
    'place session': placed,
    // over HTTPS, to the server
    'invoke_agent native': held,
    'start session': attempted,
    'turn ': attempted,
    execute_tool: turned,
    'finish session': attempted,
    'export session': placed,
  };
  for (const [name, chain] of Object.entries(chains)) {
    const found = above(name);
    assert.ok(found.length > 0, `there is no span ${name}`);
    for (const one of found) assert.deepEqual(one, chain, name);
  }
  // back over HTTPS, from the server
  const asked = above('chat').map(([request = '', ...rest]) => [
    request.replace(/^(POST \/model\/).*/, '$1'),
    ...rest,
  ]);
  assert.ok(asked.length > 1);
  for (const one of asked) assert.deepEqual(one, ['POST /model/', ...turned]);
  const exchanged = trace.find(({ name }) => name.startsWith('chat'));
  assert.equal(exchanged?.attributes['gen_ai.operation.name'], 'chat');
  assert.ok(Number(exchanged?.attributes['gen_ai.usage.input_tokens']) > 0);
});

test('a session that another program or an assignment starts has a trace as well', async () => {
  const repository = { kind: 'path', path: sampleRepository(site.scratch, 'traced-by-others') };
  const { token } = JSON.parse(readFileSync(site.fleet.tokenFile, 'utf8')) as { token: string };
  const answer = await fetch(`${site.fleet.apiUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'create_session', arguments: { instruction: 'Fix it.', project: 'local', repository } },
    }),
  });
  const said = await answer.text();
  const called = /\bs_[0-9a-z]{26}\b/.exec(said)?.[0] ?? assert.fail(said);

  await site.client.json('/v1/projects/local/workspace', z.unknown(), {
    method: 'PUT',
    body: { repository },
    headers: { 'if-match': '"0"' },
  });
  await site.client.json('/v1/agents', z.unknown(), {
    method: 'POST',
    body: { id: 'fixer', project: '*', definition: {} },
  });
  await site.client.json('/v1/objects', z.unknown(), {
    method: 'POST',
    body: { project: 'local', title: 'It fails', assignee: { kind: 'agent', id: 'fixer' } },
  });

  const leadsToWork = (name: string, holds: (id: string) => boolean) => (): boolean =>
    collector.spans.some(
      (root) =>
        root.name === name &&
        (root.parentSpanId ?? '') === '' &&
        collector.spans.some(
          (span) =>
            span.traceId === root.traceId &&
            span.name.startsWith('invoke_agent') &&
            holds(String(span.attributes['gen_ai.conversation.id'])),
        ),
    );
  await until(
    'the called one is traced',
    leadsToWork('POST /mcp', (id) => id === called),
    30_000,
  );
  await until(
    'the assigned one is traced',
    leadsToWork('start wish', (id) => id !== called),
    30_000,
  );
});

test('metrics arrive at the collector from every service', async () => {
  const services = ['lemniscate-dispatcher', 'lemniscate-agent-server', 'lemniscate-audit-exporter'];
  await until('metrics of all services came', () => services.every((name) => collector.metrics.has(name)));
  assert.ok(collector.metrics.get('lemniscate-dispatcher')?.has('lemniscate_pool_wanted_slots'));
  assert.ok(collector.metrics.get('lemniscate-agent-server')?.has('lemniscate_server_journal_bytes'));
  assert.ok(collector.metrics.get('lemniscate-audit-exporter')?.has('lemniscate_export_lag_seconds'));
});

test('log lines of the session name its trace', async () => {
  const traceId = spansOf(session.session.id)[0]?.traceId ?? assert.fail();
  const logs = site.fleet.data.folder('logs');
  const holding = readdirSync(logs).filter((file) =>
    readFileSync(join(logs, file), 'utf8').includes(`"trace_id":"${traceId}"`),
  );
  assert.ok(holding.some((file) => file.startsWith('agent-server')));
  assert.ok(holding.some((file) => file.startsWith('dispatcher')));
});

test('the operators’ listeners expose every metric of the catalogue, to nobody else', async () => {
  const scraper = await scrapeFleet(site.fleet);
  assert.equal((await fetch(`${site.fleet.apiUrl}/metrics`)).status, 401);
  assert.equal((await scraper.agentServer('/status')).status, 403);
  const scraped = async () => Promise.all([scraper.dispatcher(), scraper.agentServer(), scraper.exporter()]);
  const texts = (await scraped()).map(({ body }) => body);
  const exposed = new Set([...texts.join('').matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]));
  assert.deepEqual(
    Object.keys(metricCatalogue).filter((name) => !exposed.has(name)),
    [],
  );
  if (noPromtool === false)
    for (const text of texts) execFileSync(promtool, ['check', 'metrics'], { input: text, stdio: 'pipe' });
  // one session of this file has ended, and those that a client and an assignment started may have
  const ended = /^lemniscate_sessions_ended_total\{pool="default",reason="finished"\} [123]$/m;
  await until(
    'the end of the session is counted',
    async () => ended.test((await scraper.dispatcher()).body),
    20_000,
  );
  const { body } = await scraper.dispatcher('application/openmetrics-text');
  assert.match(body, /lemniscate_http_request_seconds_bucket\S+ \d+ # \{trace_id="[0-9a-f]{32}"\}/);
  assert.match(body, /lemniscate_session_start_seconds_bucket\S+ [123] # \{trace_id="[0-9a-f]{32}"\}/);
});
