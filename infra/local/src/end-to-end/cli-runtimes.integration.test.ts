import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { z } from 'zod';
import { toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, makeRepository, positionsAreDense, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const keys = { anthropic: 'sk-ant-test-0123456789', openai: 'sk-oai-test-0123456789' };
let upstream: ScriptedUpstream;
let site: TestFleet;

const undo = undoneAfterTests();

before(async () => {
  upstream = undo.adopt(await startScriptedUpstream(), (one) => one.close());
  site = undo.adopt(
    await startTestFleet({
      ANTHROPIC_API_KEY: keys.anthropic,
      ANTHROPIC_BASE_URL: upstream.url,
      OPENAI_API_KEY: keys.openai,
      OPENAI_BASE_URL: upstream.url,
    }),
    endFleet,
  );
  const allowed = 'tools: {write_file: allow, run_command: allow}\nfreeCommands: [cat]\n';
  for (const body of [
    { id: 'hosted', policy: `cli: {tools: hosted}\n${allowed}` },
    { id: 'small', policy: `budgets: {maxActions: 1}\n${allowed}` },
  ])
    await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body });
});

/** What each vendor's program is given, and by which header its vendor knows our key. */
const programs = [
  { runtime: 'claude-code', model: 'claude-sonnet-4-6', header: 'x-api-key', value: keys.anthropic },
  { runtime: 'codex', model: 'gpt-5-codex', header: 'authorization', value: `Bearer ${keys.openai}` },
] as const;

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

for (const { runtime, model, header, value } of programs)
  test(`${runtime}: the real program changes a file over the whole way, and what it did is marked as its word`, async () => {
    const before = upstream.requests.length;
    upstream.play(turns);
    const repositoryFolder = makeRepository(site.scratch, runtime, { 'README.md': 'A project.\n' });
    const { session, events, patch, audit } = await runSession(site, {
      // Codex does not speak the fleet's default model and gets one that it speaks.
      runtime,
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
    const asked = upstream.requests.slice(before).filter(({ method }) => method === 'POST');
    assert.ok(asked.length >= 3);
    for (const { headers, body } of asked) {
      assert.equal(headers[header], value);
      assert.equal((body as { model: string }).model, model);
    }
    for (const key of Object.values(keys)) assert.equal(JSON.stringify(events).includes(key), false);

    // The program's own count beside ours.
    const same = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    assert.deepEqual(session.reportedUsage?.difference, same);
    assert.equal(session.usage.cacheReadTokens, 50);
    assert.ok(Number(session.totalCostUsd) > 0);
  });

for (const { runtime } of programs)
  test(`${runtime}, hosted: the program has our tools alone, and each call its own permit over the whole way`, async () => {
    const before = upstream.requests.length;
    upstream.play(turns);
    const { session, patch, audit } = await runSession(site, {
      runtime,
      project: 'hosted',
      instruction: 'Write a greeting.',
      repositoryFolder: makeRepository(site.scratch, `${runtime}-hosted`, { 'README.md': 'A project.\n' }),
    });
    assert.deepEqual(
      [session.state, session.message],
      ['completed', 'The file is there.'],
      session.message ?? '',
    );
    assert.match(patch, /\+hello/);
    assert.equal(audit.fault, null);
    const { toolCalls } = await site.client.json(
      `/v1/sessions/${session.id}/tool-calls`,
      z.object({ toolCalls: z.array(toolCallViewSchema) }),
    );
    assert.deepEqual(
      toolCalls.map(({ tool, state, decidedBy, reported }) => [tool, state, decidedBy, reported]),
      [
        ['write_file', 'done', 'automation', false],
        ['run_command', 'done', 'automation', false],
      ],
    );
    const offered = JSON.stringify(
      upstream.requests.slice(before).map(({ body }) => (body as { tools?: unknown }).tools ?? []),
    );
    assert.match(offered, /write_file/);
    for (const own of ['"Bash"', '"Write"', '"exec_command"', '"shell"', '"apply_patch"'])
      assert.ok(!offered.includes(own), `${own} is off`);
  });

for (const { runtime } of programs)
  test(`${runtime}: a session at the end of its budget says how far it came`, async () => {
    // With the first action the budget is used up, and the next exchange is the last.
    upstream.play([...turns.slice(0, 1), { blocks: [{ text: 'I wrote it and did not look at it.' }] }]);
    const { session, patch, events } = await runSession(site, {
      runtime,
      project: 'small',
      surface: 'terminal',
      instruction: 'Write a greeting.',
      repositoryFolder: makeRepository(site.scratch, `${runtime}-small`, { 'README.md': 'A project.\n' }),
    });
    assert.deepEqual([session.state, session.reason], ['failed', 'budget_actions'], session.message ?? '');
    assert.match(session.message ?? '', /I wrote it and did not look at it\.$/);
    assert.match(patch, /\+hello/);
    const ran = events.filter(({ event }) => event.type === 'tool_call' && event.state === 'done');
    assert.equal(ran.length, 1);
  });
