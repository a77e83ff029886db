import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { makeRepository, positionsAreDense, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const key = 'sk-ant-test-0123456789';
const model = 'claude-sonnet-4-6';
let upstream: ScriptedUpstream;
let site: TestFleet;

before(async () => {
  upstream = await startScriptedUpstream();
  site = await startTestFleet({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: upstream.url });
});
after(async () => {
  await site.stop();
  await upstream.close();
});

const turns = [
  {
    blocks: [
      { text: 'I write it.' },
      { id: 'toolu_write', tool: 'write_file', input: { path: 'greeting.txt', content: 'hello\n' } },
    ],
  },
  { blocks: [{ id: 'toolu_run', tool: 'run_command', input: { command: 'cat greeting.txt' } }] },
  { blocks: [{ text: 'The file is there.' }], usage: { input: 100, output: 7, cacheRead: 50 } },
];

test('the real Claude Code writes a file over the whole way, and what it did is marked as its word', async () => {
  upstream.play(turns);
  const repositoryFolder = makeRepository(site.scratch, 'own', { 'README.md': 'A project.\n' });
  const { session, events, patch, audit } = await runSession(site, {
    runtime: 'claude-code',
    instruction: 'Write a greeting.',
    repositoryFolder,
  });
  assert.deepEqual(
    [session.state, session.reason, session.message],
    ['completed', 'finished', 'The file is there.'],
  );
  assert.match(patch, /\+hello/);
  assert.ok(positionsAreDense(events));
  assert.equal(audit.fault, null);

  const { toolCalls } = await site.client.json(
    `/v1/sessions/${session.id}/tool-calls`,
    z.object({ toolCalls: z.array(toolCallViewSchema) }),
  );
  assert.deepEqual(
    toolCalls.map(({ tool, state, decidedBy, reported }) => [tool, state, decidedBy, reported]),
    [
      ['write_file', 'done', 'automation', true],
      ['run_command', 'done', 'automation', true],
    ],
  );

  // What reached the vendor: our key, the session's model, nothing of the relay.
  const asked = upstream.requests.filter(({ method }) => method === 'POST');
  assert.ok(asked.length >= 3);
  for (const { headers, body } of asked) {
    assert.equal(headers['x-api-key'], key);
    assert.equal((body as { model: string }).model, model);
  }
  assert.equal(JSON.stringify(events).includes(key), false);

  // The program's own count beside ours.
  assert.deepEqual(session.reportedUsage?.difference, {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });
  assert.equal(session.usage.cacheReadTokens, 50);
  assert.ok(Number(session.totalCostUsd) > 0);
});
