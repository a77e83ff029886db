import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import type { InitializeRequest, RequestPermissionRequest, SessionUpdate } from '@agentclientprotocol/sdk';
import { projectRoot } from '../project-root.ts';
import { makeRepository, sampleRepository, startTestFleet, testsPass } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(() => site.stop());

/** The real program on pipes, as an editor starts it. */
function startAgent(t: TestContext): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [join(projectRoot, 'clients/cli/bin/lemniscate.mjs'), 'acp'], {
    env: {
      ...site.environment,
      TMPDIR: site.scratch,
      XDG_STATE_HOME: join(site.scratch, 'state'),
      LEMNISCATE_AGENT_EXECUTION: 'server',
    },
    stdio: 'pipe',
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** The protocol's own client in the editor's place, and what it saw. */
function startEditor(t: TestContext, answer: (request: RequestPermissionRequest) => string) {
  const child = startAgent(t);
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const app = client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: 'selected', optionId: answer(params) } };
    })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update));
  const connection = app.connect(
    ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>),
  );
  return {
    agent: connection.agent,
    updates,
    asked,
    text: () =>
      updates
        .flatMap((update) =>
          update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text'
            ? [update.content.text]
            : [],
        )
        .join(''),
    leave: async () => {
      connection.close();
      child.stdin.end();
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

const initialize: InitializeRequest = { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} };

test('an editor mends the sample, talks on, reviews old and new text, and applies it', async (t) => {
  const folder = sampleRepository(site.scratch, 'editor');
  const editor = startEditor(t, ({ options }) =>
    options.some(({ optionId }) => optionId === 'apply') ? 'apply' : 'approve',
  );
  const hello = await editor.agent.request(methods.agent.initialize, initialize);
  assert.equal(hello.agentCapabilities?.loadSession, true);
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: folder,
    mcpServers: [],
  });
  const first = await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'fix the failing test' }],
  });
  assert.equal(first.stopReason, 'end_turn');
  assert.equal(testsPass(folder), false, 'nothing reaches the folder before it is accepted');
  const states = new Set(
    editor.updates.flatMap((update) =>
      update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update'
        ? [(update._meta?.['lemniscate'] as { state?: string } | undefined)?.state]
        : [],
    ),
  );
  for (const state of ['generating', 'generated', 'calling', 'done']) assert.ok(states.has(state), state);

  const finished = await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: '/finish' }],
  });
  assert.equal(finished.stopReason, 'end_turn');
  const review = editor.asked.at(-1);
  const [change] = review?.toolCall.content ?? [];
  assert.equal(change?.type, 'diff');
  if (change?.type !== 'diff') return;
  assert.equal(readFileSync(change.path, 'utf8'), change.newText, 'applied as shown');
  assert.notEqual(change.oldText, change.newText);
  assert.equal(testsPass(folder), true);
  await editor.leave();
});

test('a conversation is loaded again after a restart of the editor and goes on', async (t) => {
  const folder = makeRepository(site.scratch, 'reload', { 'README.md': '# Quiet\n' });
  const first = startEditor(t, () => 'reject');
  await first.agent.request(methods.agent.initialize, initialize);
  const { sessionId } = await first.agent.request(methods.agent.session.new, {
    cwd: folder,
    mcpServers: [],
  });
  const prompt = { sessionId, prompt: [{ type: 'text' as const, text: 'look around' }] };
  await first.agent.request(methods.agent.session.prompt, prompt);
  const said = first.text();
  await first.leave();

  const second = startEditor(t, () => 'reject');
  await second.agent.request(methods.agent.initialize, initialize);
  await second.agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  assert.equal(second.text(), said);
  assert.deepEqual(
    second.updates.flatMap((update) =>
      update.sessionUpdate === 'user_message_chunk' && update.content.type === 'text'
        ? [update.content.text]
        : [],
    ),
    ['look around'],
  );
  const again = await second.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'and once more' }],
  });
  assert.equal(again.stopReason, 'end_turn');
  assert.ok(second.text().length > said.length);
  await second.leave();
});

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

test('a scripted client on bare lines: wrong words are answered by name', async (t) => {
  const child = startAgent(t);
  const lines = createInterface({ input: child.stdout });
  const answers = new Map<number, Answer>();
  const waiting = new Map<number, () => void>();
  lines.on('line', (line) => {
    const message = JSON.parse(line) as Answer & { id?: number };
    if (message.id === undefined) return;
    answers.set(message.id, message);
    waiting.get(message.id)?.();
  });
  const call = async (id: number, method: string, params: unknown) => {
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    await answered;
    return answers.get(id);
  };
  await call(1, 'initialize', initialize);
  const nowhere = await call(2, 'session/new', { cwd: '/nowhere', mcpServers: [] });
  assert.match(nowhere?.error?.message ?? '', /nowhere.*repository_missing/s);
  const unknown = await call(3, 'session/load', {
    sessionId: '../../etc/passwd',
    cwd: '/',
    mcpServers: [],
  });
  assert.equal(unknown?.error?.code, -32002);
  const folder = makeRepository(site.scratch, 'bare-lines', { 'a.txt': 'one\n' });
  const opened = await call(4, 'session/new', { cwd: folder, mcpServers: [] });
  assert.ok(opened?.result);
  const { sessionId } = opened.result as { sessionId: string };
  const picture = await call(5, 'session/prompt', {
    sessionId,
    prompt: [{ type: 'image', data: '', mimeType: 'image/png' }],
  });
  assert.match(picture?.error?.message ?? '', /pictures/);
  child.stdin.end();
  assert.equal(await new Promise((resolve) => child.once('exit', resolve)), 0);
});
