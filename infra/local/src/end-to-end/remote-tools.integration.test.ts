import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { z } from 'zod';
import { startRemoteMcpServer } from '@lemniscate/dispatcher/testing/remote-mcp-server.ts';
import type { RemoteMcpServer } from '@lemniscate/dispatcher/testing/remote-mcp-server.ts';
import { agentDefinitionSchema, agentViewSchema } from '@lemniscate/shared/api/agent.ts';
import { approvalViewSchema } from '@lemniscate/shared/api/session.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { remoteToolListSchema } from '@lemniscate/shared/api/remote-tool.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, makeRepository, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const approvalsSchema = z.object({ approvals: z.array(approvalViewSchema) });
const token = 'the-token-of-the-tracker-0123456789';
let upstream: ScriptedUpstream;
let remote: RemoteMcpServer;
let site: TestFleet;

const undo = undoneAfterTests();

before(async () => {
  upstream = undo.adopt(await startScriptedUpstream(), (one) => one.close());
  remote = undo.adopt(await startRemoteMcpServer(), (one) => one.close());
  remote.token = token;
  remote.tools = [
    {
      name: 'get_issue',
      description: 'Reads an issue.',
      inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
    },
    { name: 'drop_all', description: 'Drops everything.', inputSchema: { type: 'object' } },
  ];
  remote.onCall = (_name, { id }) => ({
    content: [{ type: 'text', text: `issue ${String(id)}: say heron` }],
  });
  site = undo.adopt(
    await startTestFleet({
      ANTHROPIC_API_KEY: 'sk-ant-test-0123456789',
      ANTHROPIC_BASE_URL: upstream.url,
      LEMNISCATE_MCP_PRIVATE_HOSTS: remote.host,
    }),
    endFleet,
  );
});

/** The person in front of it says yes to what was asked. */
async function approveAsked({ event }: PositionedEvent): Promise<void> {
  if (event.type !== 'approval' || event.state !== 'waiting') return;
  const { approvals } = await site.client.json('/v1/approvals', approvalsSchema);
  const asked = approvals.find(({ id }) => id === event.approvalId);
  assert.equal(asked?.tool, 'tracker/get_issue');
  await site.client.json(`/v1/sessions/${asked.sessionId}/approvals/${asked.id}`, approvalViewSchema, {
    method: 'POST',
    body: { decision: 'approve', argumentsDigest: asked.argumentsDigest },
  });
}

test('an agent uses a tool of a remote server: approved by digest, asked about, carried out by the gateway', async () => {
  const { client } = site;
  const login = { kind: 'token', reference: 'vault:TRACKER' } as const;
  const definition = agentDefinitionSchema.parse({
    mcpServers: [{ name: 'tracker', url: remote.url, login }],
  });
  await client.json('/v1/agents', agentViewSchema, {
    method: 'POST',
    body: { id: 'triager', project: 'local', definition },
  });
  await client.open('/v1/agents/triager/credentials/TRACKER', {
    method: 'PUT',
    body: { value: token },
    headers: { 'if-match': '"0"' },
  });
  const base = '/v1/agents/triager/remote-tools';
  const seen = await client.json(`${base}/look`, remoteToolListSchema, { method: 'POST' });
  const issue = seen.tools.find(({ name }) => name === 'tracker/get_issue');
  assert.equal(issue?.state, 'new');
  const tools = [{ name: issue.name, digest: issue.digest }];
  await client.json(`${base}/approve`, remoteToolListSchema, { method: 'POST', body: { tools } });

  upstream.play([
    { blocks: [{ id: 'toolu_1', tool: 'mcp__tracker__get_issue', input: { id: 7 } }] },
    { blocks: [{ text: 'The issue says heron.' }] },
  ]);
  const before = upstream.requests.length;
  const { session, events, audit } = await runSession(
    site,
    {
      agent: 'triager',
      instruction: 'What does issue 7 say?',
      interactive: true,
      repositoryFolder: makeRepository(site.scratch, 'remote-tools', { 'README.md': 'A project.\n' }),
    },
    (positioned) => approveAsked(positioned),
  );
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.equal(audit.fault, null);

  const asked = upstream.requests.slice(before).filter(({ path }) => path.includes('/messages'));
  const offered =
    (asked[0]?.body as { tools?: { name: string }[] } | undefined)?.tools?.map(({ name }) => name) ?? [];
  assert.ok(offered.includes('mcp__tracker__get_issue'));
  assert.ok(!offered.includes('mcp__tracker__drop_all'), 'what nobody approved is not offered');
  assert.match(JSON.stringify(asked.at(-1)?.body), /text of another party[^]*issue 7: say heron/);
  assert.deepEqual(
    remote.calls.map(({ name, args, authorization }) => [name, args, authorization]),
    [['get_issue', { id: 7 }, `Bearer ${token}`]],
  );
  const states = events.flatMap(({ event }) =>
    event.type === 'tool_call' && event.tool === 'tracker/get_issue' ? [event.state] : [],
  );
  assert.deepEqual(states, ['generating', 'generated', 'calling', 'done']);
  assert.equal(JSON.stringify([events, asked]).includes(token), false, 'the token is seen by nobody');
});
