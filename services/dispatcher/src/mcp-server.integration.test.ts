import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { maxWaitSeconds } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { problemSchema } from '@lemniscate/shared/errors/problem.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { writeTicket } from './http/mcp/streams.ts';
import { callTool, connectMcp } from './testing/mcp-client.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { startTcpProxy } from './testing/tcp-proxy.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const modulesFolder = fileURLToPath(new URL('../../../node_modules', import.meta.url));

interface Answered {
  readonly session: SessionView;
  readonly note?: string;
}

describe('the MCP endpoint', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let client: Client;
  let url = '';
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher();
    url = `http://127.0.0.1:${dispatcher.publicPort}/mcp`;
    client = await connectMcp(url, fleet.token);
  });
  after(async () => {
    await client.close();
    await fleet.remove();
  });

  test('it offers the tools and no way to decide anything for a person', async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
      'create_session',
      'get_diff',
      'get_session',
      'list_agents',
      'list_approvals',
      'list_sessions',
      'send_message',
      'stop_session',
    ]);
  });

  test('a session is started without waiting, seen, listed and stopped; it counts as automation', async () => {
    const opened = await callTool(client, 'create_session', { ...ordinaryRequest });
    assert.equal(opened.isError, false, opened.text);
    const { id, state } = (opened.value as Answered).session;
    assert.equal(state, 'pending');
    assert.match((opened.value as Answered).note ?? '', new RegExp(id));
    const [entry] = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE chain = $1 AND type = 'session.opened'`,
      [`session:${id}`],
    );
    const recorded = JSON.parse(entry?.body ?? '{}') as { body: { kind: string; surface: string } };
    assert.deepEqual([recorded.body.kind, recorded.body.surface], ['automation', 'api']);

    const seen = await callTool(client, 'get_session', { id });
    assert.equal((seen.value as Answered).session.id, id);
    const listed = await callTool(client, 'list_sessions', {});
    assert.ok((listed.value as { sessions: SessionView[] }).sessions.some((session) => session.id === id));
    const diff = await callTool(client, 'get_diff', { id });
    assert.deepEqual([diff.isError, diff.text.split(':')[0]], [true, 'diff_missing']);
    const message = await callTool(client, 'send_message', { id, text: 'hello' });
    assert.deepEqual([message.isError, message.text.split(':')[0]], [true, 'conflict']);
    const stopped = await callTool(client, 'stop_session', { id });
    assert.equal((stopped.value as Answered).session.state, 'user_stopped');
    assert.deepEqual((await callTool(client, 'list_approvals', {})).value, { approvals: [] });
    const agents = await callTool(client, 'list_agents', {});
    assert.ok((agents.value as { agents: { id: string }[] }).agents.some((agent) => agent.id === 'default'));
  });

  test('a restart in the middle of a wait: the client comes back to another dispatcher and gets the one answer', async () => {
    const first = await fleet.startDispatcher();
    const proxy = await startTcpProxy(first.publicPort);
    const away = await connectMcp(`http://127.0.0.1:${proxy.port}/mcp`, fleet.token);
    try {
      const told: number[] = [];
      const before = Promise.withResolvers<void>();
      const afterwards = Promise.withResolvers<void>();
      let restarted = false;
      const waiting = away.callTool(
        { name: 'create_session', arguments: { ...ordinaryRequest, wait: true, instruction: 'restart me' } },
        undefined,
        {
          timeout: 120_000,
          onprogress: ({ progress }) => {
            told.push(progress);
            (restarted ? afterwards : before).resolve();
          },
        },
      );
      await before.promise;
      await first.stop();
      const second = await fleet.startDispatcher();
      restarted = true;
      proxy.pointTo(second.publicPort);
      await afterwards.promise;
      const [row] = await fleet.sql<{ id: string }>(
        `SELECT id FROM sessions WHERE instruction = 'restart me'`,
      );
      await second.call('POST', `/v1/sessions/${row?.id}/stop`);
      const { session } = (await waiting).structuredContent as { session: SessionView };
      assert.deepEqual([session.id, session.state], [row?.id, 'user_stopped']);
      assert.equal((await fleet.sql(`SELECT 1 FROM sessions WHERE instruction = 'restart me'`)).length, 1);
      assert.deepEqual(
        told,
        told.toSorted((one, other) => one - other),
        'its progress goes on from where it was',
      );
      await second.stop();
    } finally {
      await away.close();
      proxy.close();
    }
  });

  test('where time has run out the answer is the session’s id and how to look again', async () => {
    const key = 'a-call-of-eleven-minutes-ago';
    const opened = await callTool(client, 'create_session', { ...ordinaryRequest, idempotency_key: key });
    const { id } = (opened.value as Answered).session;
    const ticket = writeTicket(
      { key, requestId: 7, progressToken: null, askedAt: Date.now() - (maxWaitSeconds + 1) * 1_000 },
      1,
    );
    const answer = await fetch(url, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${fleet.token}`,
        'last-event-id': ticket,
      },
    });
    assert.equal(answer.status, 200);
    const line = /^data: (.*)$/m.exec(await answer.text())?.[1] ?? '{}';
    const said = JSON.parse(line) as { id: number; result: { structuredContent: Answered } };
    assert.deepEqual([said.id, said.result.structuredContent.session.id], [7, id]);
    assert.match(said.result.structuredContent.note ?? '', new RegExp(`get_session with id ${id}`));
  });

  test('wait blocks with progress, survives a cut connection, and opens one session', async () => {
    const proxy = await startTcpProxy(dispatcher.publicPort);
    const away = await connectMcp(`http://127.0.0.1:${proxy.port}/mcp`, fleet.token);
    try {
      const heard: string[] = [];
      const progressed = Promise.withResolvers<void>();
      const waiting = away.callTool(
        { name: 'create_session', arguments: { ...ordinaryRequest, wait: true, instruction: 'cut me' } },
        undefined,
        {
          timeout: 60_000,
          onprogress: ({ message }) => {
            heard.push(message ?? '');
            progressed.resolve();
          },
        },
      );
      await progressed.promise;
      proxy.cut();
      const [row] = await fleet.sql<{ id: string }>(`SELECT id FROM sessions WHERE instruction = 'cut me'`);
      const id = row?.id ?? '';
      assert.match(heard[0] ?? '', new RegExp(`${id} is pending`));
      await dispatcher.call('POST', `/v1/sessions/${id}/stop`);
      proxy.mend();
      const result = await waiting;
      const { session } = result.structuredContent as { session: SessionView };
      assert.deepEqual([session.id, session.state], [id, 'user_stopped']);
      const opened = await fleet.sql(`SELECT 1 FROM sessions WHERE instruction = 'cut me'`);
      assert.equal(opened.length, 1);
    } finally {
      await away.close();
      proxy.close();
    }
  });

  test('logs and diffs are resources', async () => {
    const opened = await callTool(client, 'create_session', { ...ordinaryRequest });
    const { id } = (opened.value as Answered).session;
    const { resources } = await client.listResources();
    const uri = `lemniscate://sessions/${id}/log`;
    assert.ok(resources.some((resource) => resource.uri === uri));
    const read = await client.readResource({ uri });
    const [content] = read.contents;
    const lines = content !== undefined && 'text' in content ? content.text.split('\n') : [];
    assert.equal((JSON.parse(lines[0] ?? '{}') as { event: { type: string } }).event.type, 'state');
    const later = await client.readResource({ uri: `${uri}?after=1` });
    assert.ok(later.contents[0] !== undefined && 'text' in later.contents[0]);
    assert.equal(later.contents[0].text.includes('"position":1,'), false);
    await assert.rejects(client.readResource({ uri: `lemniscate://sessions/${id}/diff` }), /diff_missing/);
    await assert.rejects(client.readResource({ uri: 'lemniscate://sessions/s_none/log' }), /session_unknown/);
  });

  test('each tool keeps to the rule of its route: scopes of a token, and roles', async () => {
    const made = await dispatcher.call<{ token: string }>('POST', '/v1/tokens', {
      name: 'reader',
      project: 'local',
      roles: ['member'],
      scopes: ['sessions:read'],
      expiresInDays: 1,
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const reader = await connectMcp(url, made.body.token);
    try {
      assert.equal((await callTool(reader, 'list_sessions', {})).isError, false);
      const refused = await callTool(reader, 'create_session', { ...ordinaryRequest });
      assert.match(refused.text, /^forbidden: .*sessions:write/);
      assert.match((await callTool(reader, 'list_agents', {})).text, /^forbidden/);
    } finally {
      await reader.close();
    }
  });

  test('without a login it says where one is had; foreign pages, wrong media and foreign tickets are refused', async () => {
    const ask = (headers: Record<string, string>, method = 'POST') =>
      fetch(url, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(method === 'POST' ? { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' } : {}),
      });
    const accept = 'application/json, text/event-stream';
    const nobody = await ask({ accept });
    assert.equal(nobody.status, 401);
    assert.match(
      nobody.headers.get('www-authenticate') ?? '',
      /^Bearer resource_metadata="http:\/\/127\.0\.0\.1:\d+\/\.well-known\/oauth-protected-resource\/mcp"$/,
    );
    const authorization = `Bearer ${fleet.token}`;
    assert.equal((await ask({ accept, authorization, origin: 'https://evil.example' })).status, 403);
    assert.equal((await ask({ accept: 'text/html', authorization })).status, 400);
    const bare = await ask({ accept, authorization }, 'GET');
    assert.deepEqual([bare.status, bare.headers.get('allow')], [405, 'POST']);
    assert.equal(problemSchema.parse(await bare.json()).code, 'method_refused');
    const foreign = await ask({ accept, authorization, 'last-event-id': 'e30.1' }, 'GET');
    assert.equal(foreign.status, 400);
    assert.equal((await ask({ accept, authorization })).status, 200);
  });

  test('the inspector’s command line speaks with it', async (t) => {
    const place = await mkdtemp(join(tmpdir(), 'lemniscate-inspector-'));
    t.after(() => rm(place, { recursive: true, force: true }));
    // It looks for the inspector's own manifest two folders up, as it lies in its home.
    const built = dirname(require.resolve('@modelcontextprotocol/inspector-cli'));
    await cp(built, join(place, 'cli', 'build'), { recursive: true });
    await writeFile(join(place, 'package.json'), '{"name":"inspector","version":"1.0.3","type":"module"}');
    await symlink(modulesFolder, join(place, 'node_modules'));
    const program = join(place, 'cli', 'build', 'index.js');
    const inspect = async (...more: string[]): Promise<unknown> => {
      const args = [program, url, '--transport', 'http', '--header', `Authorization: Bearer ${fleet.token}`];
      const { stdout } = await run(process.execPath, [...args, ...more], { timeout: 30_000 });
      return JSON.parse(stdout);
    };
    const listed = (await inspect('--method', 'tools/list')) as { tools: unknown[] };
    assert.equal(listed.tools.length, 8);
    const repository = `repository=${JSON.stringify(ordinaryRequest.repository)}`;
    const called = (await inspect(
      '--method',
      'tools/call',
      '--tool-name',
      'create_session',
      '--tool-arg',
      'instruction=by the inspector',
      repository,
    )) as { structuredContent: Answered };
    assert.equal(called.structuredContent.session.state, 'pending');
    assert.equal(
      (await fleet.sql(`SELECT 1 FROM sessions WHERE instruction = 'by the inspector'`)).length,
      1,
    );
  });

  test('Claude Code calls its tools', async () => {
    const upstream = await startScriptedUpstream();
    const home = await mkdtemp(join(tmpdir(), 'lemniscate-claude-'));
    try {
      const input = { instruction: 'by claude code', repository: ordinaryRequest.repository };
      upstream.play([
        { blocks: [{ id: 'toolu_1', tool: 'mcp__lemniscate__create_session', input }] },
        { blocks: [{ text: 'It was started.' }] },
      ]);
      const manifest = fileURLToPath(new URL('../../agent-server/package.json', import.meta.url));
      const companion = `@anthropic-ai/claude-code-linux-${process.arch}/package.json`;
      const program = join(dirname(createRequire(manifest).resolve(companion)), 'claude');
      const headers = { Authorization: `Bearer ${fleet.token}` };
      const servers = { mcpServers: { lemniscate: { type: 'http', url, headers } } };
      const args = words`--print --strict-mcp-config --allowedTools mcp__lemniscate__create_session`.concat(
        ['--mcp-config', JSON.stringify(servers), '--tools', ''],
        ['--model', 'claude-sonnet-4-6', 'Start a session.'],
      );
      const started = run(program, args, {
        cwd: home,
        timeout: 60_000,
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          ANTHROPIC_BASE_URL: upstream.url,
          ANTHROPIC_API_KEY: 'placeholder',
          ENABLE_TOOL_SEARCH: 'false',
          MCP_TIMEOUT: '30000',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_TELEMETRY: '1',
          DISABLE_ERROR_REPORTING: '1',
          DISABLE_AUTOUPDATER: '1',
        },
      });
      started.child.stdin?.end();
      const { stdout } = await started;
      assert.match(stdout, /It was started\./);
      assert.equal(
        (await fleet.sql(`SELECT 1 FROM sessions WHERE instruction = 'by claude code'`)).length,
        1,
      );
    } finally {
      await upstream.close();
      await rm(home, { recursive: true, force: true });
    }
  });
});

function words(text: TemplateStringsArray): string[] {
  return (text[0] ?? '').split(' ');
}
