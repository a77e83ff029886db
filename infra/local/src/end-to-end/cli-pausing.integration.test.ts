import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { z } from 'zod';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import type { OpenRequest } from '@lemniscate/cli/open-session.ts';
import { approvalViewSchema, sessionViewSchema, toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, makeRepository, positionsAreDense, shortLeases, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { killServerOf, watchSession } from './watched-session.ts';
import type { WatchedSession } from './watched-session.ts';

let upstream: ScriptedUpstream;
let site: TestFleet;
let folder: string;

const tools = 'write_file: allow, edit_file: allow, read_file: allow, run_command: allow';
const modes = ['own', 'hosted'] as const;

const undo = undoneAfterTests();

before(async () => {
  upstream = undo.adopt(await startScriptedUpstream(), (one) => one.close());
  site = undo.adopt(
    await startTestFleet({
      ...shortLeases,
      ANTHROPIC_API_KEY: 'sk-ant-test-0123456789',
      ANTHROPIC_BASE_URL: upstream.url,
      OPENAI_API_KEY: 'sk-oai-test-0123456789',
      OPENAI_BASE_URL: upstream.url,
      LEMNISCATE_PAUSE_AFTER_SECONDS: '2',
      LEMNISCATE_CHECKPOINT_SECONDS: '1',
      LEMNISCATE_MAX_LOSSES: '2',
    }),
    endFleet,
  );
  folder = makeRepository(site.scratch, 'plain', { 'README.md': 'A project.\n' });
  for (const mode of modes)
    await post('/v1/projects', {
      id: mode,
      policy: `cli: {tools: ${mode}}\ntools: {${tools}}\nfreeCommands: [sleep, 'true', cat, echo]\n`,
    });
});

const post = (path: string, body: object = {}) =>
  site.client.json(path, z.unknown(), { method: 'POST', body });
const watched = (request: Partial<OpenRequest>) =>
  watchSession(site, { repositoryFolder: folder, ...request });

const write = (name: string): ScriptedTurn => ({
  blocks: [{ id: `toolu_${name}`, tool: 'write_file', input: { path: name, content: `${name}\n` } }],
});
const run = (id: string, command: string): ScriptedTurn => ({
  blocks: [{ id, tool: 'run_command', input: { command } }],
});
const says = (text: string): ScriptedTurn => ({ blocks: [{ text }] });

const isState = (state: string) => (event: SessionEvent) => event.type === 'state' && event.state === state;
const isCalling = (id: string) => (event: SessionEvent) =>
  event.type === 'tool_call' && event.callId === id && event.state === 'calling';
const lastState = ({ events }: WatchedSession, id: string): string | undefined =>
  events
    .flatMap(({ event }) => (event.type === 'tool_call' && event.callId === id ? [event.state] : []))
    .at(-1);

async function callsOf(id: string) {
  const schema = z.object({ toolCalls: z.array(toolCallViewSchema) });
  return (await site.client.json(`/v1/sessions/${id}/tool-calls`, schema)).toolCalls;
}

async function approve(sessionId: string): Promise<void> {
  const schema = z.object({ approvals: z.array(approvalViewSchema) });
  const { approvals } = await site.client.json('/v1/approvals', schema);
  const approval = approvals.find((one) => one.sessionId === sessionId);
  assert.ok(approval);
  await post(`/v1/sessions/${sessionId}/approvals/${approval.id}`, {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
}

async function finished(session: WatchedSession, files: readonly string[]) {
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.reason], ['completed', 'finished'], ended.message ?? '');
  const patch = Buffer.from(await readPatch(site.client, session.id)).toString('utf8');
  for (const file of files) assert.match(patch, new RegExp(`\\+${file}`));
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
  return ended;
}

for (const runtime of ['claude-code', 'codex'] as const)
  for (const project of modes) {
    const open = { runtime, project, interactive: true, instruction: 'Do as you are told.' } as const;

    test(`${runtime}, ${project}: an approval that waits frees the slot and counts once, each call has its permit`, async () => {
      const asks = run('toolu_asks', 'touch asked');
      upstream.play([write('a'), asks, asks, says('Done.')]);
      const session = await watched(open);
      await session.seen('the question', (event) => event.type === 'approval' && event.state === 'waiting');
      await session.seen('paused', isState('paused'));
      assert.equal((await session.view()).reason, 'awaiting_approval');
      await approve(session.id);
      const ended = await finished(session, ['a']);
      assert.equal(ended.attempt, 2);
      assert.ok(ended.diff?.files.some(({ path }) => path === 'asked'));
      const calls = await callsOf(session.id);
      assert.deepEqual(
        calls.map(({ tool, state, decidedBy, reported }) => [tool, state, decidedBy, reported]),
        [
          ['write_file', 'done', 'automation', project === 'own'],
          ['run_command', 'done', 'human', project === 'own'],
        ],
      );
      const questions = session.events.filter(
        ({ event }) => event.type === 'approval' && event.state === 'waiting',
      );
      assert.equal(questions.length, 1);
    });

    // What is left is not the tools' matter: once for each program is enough for the whole way.
    if (project === 'own')
      test(`${runtime}: an interrupt ends the turn and not the session`, async () => {
        upstream.play([run('toolu_hang', 'sleep 600'), write('b'), says('Second.')]);
        const session = await watched(open);
        await session.seen('the command', isCalling('toolu_hang'));
        await post(`/v1/sessions/${session.id}/interrupt`);
        await session.seen('the wait', (event) => event.type === 'message' && event.state === 'awaited');
        assert.equal(lastState(session, 'toolu_hang'), 'canceled');
        assert.equal((await callsOf(session.id))[0]?.decidedBy, 'automation', 'nobody has rejected it');
        await post(`/v1/sessions/${session.id}/messages`, { text: 'Make b.' });
        await session.seen(
          'the second wait',
          (event) => event.type === 'message' && event.state === 'awaited',
          2,
        );
        await post(`/v1/sessions/${session.id}/finish`);
        await finished(session, ['b']);
      });

    if (project === 'hosted')
      test(`${runtime}: a lost server costs what was done since the last checkpoint`, async () => {
        upstream.play([
          run('toolu_wait', 'sleep 1.2'),
          write('a'),
          // The first checkpoint may be taken before the file is written: this one is not.
          run('toolu_wait_again', 'sleep 1.2'),
          run('toolu_hang', 'sleep 600'),
          run('toolu_again', 'sleep 600'),
          write('b'),
          says('Done.'),
        ]);
        const session = await watched(open);
        await session.seen(
          'a checkpoint',
          (event) => event.type === 'checkpoint' && event.cause === 'interval',
          2,
        );
        await session.seen('the command', isCalling('toolu_hang'));
        await killServerOf(site, session);
        await session.seen(
          'the loss',
          (event) => event.type === 'state' && /was lost/.test(event.message ?? ''),
        );
        await session.seen('the command again', isCalling('toolu_again'));
        await post(`/v1/sessions/${session.id}/pause`);
        await session.seen('paused', isState('paused'));
        const view = await site.client.json(`/v1/sessions/${session.id}/resume`, sessionViewSchema, {
          method: 'POST',
          body: {},
        });
        assert.equal(view.state, 'pending');
        const ended = await finished(session, ['a', 'b']);
        assert.equal(ended.attempt, 3);
        assert.ok((ended.reportedUsage?.outputTokens ?? 0) > 0);
      });
  }
