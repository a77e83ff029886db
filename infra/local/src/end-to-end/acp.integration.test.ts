import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, afterEach, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import type { InitializeRequest, RequestPermissionRequest, SessionUpdate } from '@agentclientprotocol/sdk';
import { pausedIntakesSchema } from '@lemniscate/shared/api/intake.ts';
import { entriesPageSchema } from '@lemniscate/shared/audit/stored-entry.ts';
import { readLines } from '@lemniscate/shared/text/lines.ts';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { makeRepository, sampleRepository, startTestFleet, testsPass } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(() => site.stop());

// A conversation that stays open keeps its slot for minutes, and a sub-agent needs one of its own.
afterEach(async () => {
  const { sessions } = await site.client.json('/v1/sessions?limit=100', sessionsSchema);
  for (const { id, state } of sessions)
    if (['pending', 'starting', 'running', 'paused'].includes(state))
      await site.client.json(`/v1/sessions/${id}/stop`, z.unknown(), { method: 'POST', body: {} });
});

/** The real program on pipes, as an editor starts it. */
function startAgent(
  t: TestContext,
  variables: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const child = spawn(process.execPath, [program, 'acp', ...options], {
    env: {
      ...site.environment,
      TMPDIR: site.scratch,
      XDG_STATE_HOME: join(site.scratch, 'state'),
      LEMNISCATE_AGENT_EXECUTION: 'server',
      ...variables,
    },
    stdio: 'pipe',
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** The protocol's own client in the editor's place, and what it saw. */
function startEditor(
  t: TestContext,
  answer: (request: RequestPermissionRequest) => string,
  variables: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
) {
  const child = startAgent(t, variables, options);
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const hearers = new Set<(update: SessionUpdate) => void>();
  const app = client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: { outcome: 'selected', optionId: answer(params) } };
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
      for (const hear of hearers) hear(params.update);
    });
  const connection = app.connect(
    ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>),
  );
  return {
    agent: connection.agent,
    updates,
    asked,
    /** Waits for the next update of the kind. */
    hears: (wanted: (update: SessionUpdate) => boolean) =>
      new Promise<void>((resolve) => {
        const hear = (update: SessionUpdate): void => {
          if (!wanted(update)) return;
          hearers.delete(hear);
          resolve();
        };
        hearers.add(hear);
      }),
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
  const { surface } = await site.client.json(
    `/v1/sessions/${fleetSession(sessionId)}`,
    z.object({ surface: z.string() }),
  );
  assert.equal(surface, 'ide');
  const states = new Set(
    editor.updates.flatMap((update) =>
      update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update'
        ? [(update._meta?.['lemniscate'] as { state?: string } | undefined)?.state]
        : [],
    ),
  );
  for (const state of ['generating', 'generated', 'calling', 'done']) assert.ok(states.has(state), state);
  const edits = editor.updates.flatMap((update) =>
    update.sessionUpdate === 'tool_call_update'
      ? (update.content ?? []).flatMap((content) => (content.type === 'diff' ? [content] : []))
      : [],
  );
  assert.ok(
    edits.some(({ path, oldText, newText }) => path.startsWith(folder) && oldText && oldText !== newText),
    'each edit shows its old and new text as it is made',
  );

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

test('cancel ends what the agent does, and the conversation goes on', async (t) => {
  const folder = makeRepository(site.scratch, 'cancelled', { 'README.md': '# Quiet\n' });
  const editor = startEditor(t, () => 'approve');
  await editor.agent.request(methods.agent.initialize, initialize);
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: folder,
    mcpServers: [],
  });
  const runs = editor.hears(
    (update) => update.sessionUpdate === 'tool_call_update' && update.status === 'in_progress',
  );
  const text = 'Run `sleep 300`.';
  const answered = editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text }],
  });
  await runs;
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  assert.equal((await answered).stopReason, 'cancelled');
  const again = await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'look around' }],
  });
  assert.equal(again.stopReason, 'end_turn');
  await editor.leave();
});

test('a used-up budget is extended by the next message, and counters are fresh after a restart', async (t) => {
  const folder = makeRepository(site.scratch, 'budgets', { 'README.md': '# Quiet\n', 'a.txt': 'a\n' });
  const bounds = { LEMNISCATE_SESSION_MAX_ACTIONS: '1' };
  const first = startEditor(t, () => 'approve', bounds);
  await first.agent.request(methods.agent.initialize, initialize);
  const { sessionId } = await first.agent.request(methods.agent.session.new, { cwd: folder, mcpServers: [] });
  const say = (editor: ReturnType<typeof startEditor>, text: string) =>
    editor.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  const calls = (editor: ReturnType<typeof startEditor>): number =>
    editor.updates.filter((update) => update.sessionUpdate === 'tool_call').length;
  assert.equal((await say(first, 'look around')).stopReason, 'max_turn_requests');
  assert.match(first.text(), /The budget is used up after 1 actions/);
  const before = calls(first);
  assert.equal((await say(first, 'go on')).stopReason, 'end_turn');
  assert.ok(calls(first) > before, 'the extension let it act again');
  await first.leave();

  const second = startEditor(t, () => 'approve', bounds);
  await second.agent.request(methods.agent.initialize, initialize);
  await second.agent.request(methods.agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
  const replayed = calls(second);
  assert.ok(replayed >= calls(first), 'what happened is shown again');
  const session = fleetSession(sessionId);
  const asked = async () =>
    (
      await site.client.json(
        `/v1/sessions/${session}/extensions`,
        z.object({
          extensions: z.array(z.object({ state: z.string(), used: z.object({ actions: z.number() }) })),
        }),
      )
    ).extensions.map(({ state, used }) => `${state} after ${used.actions}`);
  assert.deepEqual(await asked(), ['granted after 1']);
  // With the extension there is room for fifty; that one is used up again is the fresh bound of this run.
  assert.equal((await say(second, 'and once more')).stopReason, 'max_turn_requests');
  assert.equal(fleetSession(sessionId), session, 'it is the same session');
  assert.deepEqual(await asked(), ['granted after 1', 'waiting after 1']);
  const [restart, ...others] = await restartsOf(session);
  assert.deepEqual([restart?.cause, restart?.extensions, others], ['client_restarted', 1, []]);
  assert.ok((restart?.actions ?? 0) > 1, 'what was counted before is on record');
  await second.leave();
});

/** The session in the fleet behind a conversation, as the editor's agent keeps it. */
function fleetSession(conversation: string): string {
  const stored = readFileSync(join(site.scratch, 'state/lemniscate/acp', `${conversation}.json`), 'utf8');
  return z.object({ fleetSessionId: z.string() }).parse(JSON.parse(stored)).fleetSessionId;
}

/** What the session's chain says of counters that began anew. */
async function restartsOf(session: string) {
  const chain = encodeURIComponent(`session:${session}`);
  const page = await site.client.json(
    `/v1/audit/chains/${chain}/entries?after=0&limit=1000`,
    entriesPageSchema,
  );
  const body = z.object({ cause: z.string(), actions: z.number(), extensions: z.number() });
  return page.entries
    .filter(({ type }) => type === 'budget.restarted')
    .map((entry) => z.object({ body }).parse(JSON.parse(Buffer.from(entry.body, 'base64').toString())).body);
}

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that writes the protocol's lines itself. */
function scriptedClient(t: TestContext, variables: Readonly<Record<string, string>> = {}) {
  const child = startAgent(t, variables);
  const answers = new Map<number, Answer>();
  const waiting = new Map<number, () => void>();
  const readAnswers = async (): Promise<void> => {
    for await (const { text } of readLines(child.stdout, 16 * 1024 * 1024)) {
      const message = JSON.parse(text ?? '') as Answer & { id?: number; method?: string };
      if (message.id === undefined || message.method !== undefined) continue;
      answers.set(message.id, message);
      waiting.get(message.id)?.();
    }
  };
  void readAnswers();
  const answered = async (id: number): Promise<Answer | undefined> => {
    if (!answers.has(id)) await new Promise<void>((resolve) => waiting.set(id, resolve));
    return answers.get(id);
  };
  const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  return {
    child,
    line,
    answered,
    write: (...lines: readonly string[]) => void child.stdin.write(lines.join('')),
    call: (id: number, method: string, params: unknown) => {
      child.stdin.write(line({ id, method, params }));
      return answered(id);
    },
  };
}

test('a scripted client on bare lines: wrong words are answered by name', async (t) => {
  const { child, call } = scriptedClient(t);
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

test('a cancel that comes before the session is open opens none', async (t) => {
  const folder = makeRepository(site.scratch, 'early-cancel', { 'a.txt': 'one\n' });
  // On the workstation it takes seconds to make a sandbox; on the server the session is there at once.
  for (const execution of ['workstation', 'server']) {
    const { child, call, line, write, answered } = scriptedClient(t, {
      LEMNISCATE_AGENT_EXECUTION: execution,
    });
    await call(1, 'initialize', initialize);
    const opened = await call(2, 'session/new', { cwd: folder, mcpServers: [] });
    assert.ok(opened?.result);
    const { sessionId } = opened.result as { sessionId: string };
    const prompt = [{ type: 'text', text: `early ${execution}` }];
    write(
      line({ id: 3, method: 'session/prompt', params: { sessionId, prompt } }),
      line({ method: 'session/cancel', params: { sessionId } }),
    );
    assert.deepEqual((await answered(3))?.result, { stopReason: 'cancelled' }, execution);
    const { sessions } = await site.client.json('/v1/sessions?limit=100', sessionsSchema);
    assert.ok(
      sessions.every(({ instruction }) => !instruction.startsWith('early')),
      execution,
    );
    // It is not cancelled for good.
    const again = await call(4, 'session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text: 'look around' }],
    });
    assert.deepEqual(again?.result, { stopReason: 'end_turn' }, execution);
    child.stdin.end();
    assert.equal(await new Promise((resolve) => child.once('exit', resolve)), 0);
  }
});

const sessionsSchema = z.object({
  sessions: z.array(z.object({ id: z.string(), instruction: z.string(), state: z.string() })),
});

test('a cancel of a session that waits in the queue stops it', async (t) => {
  const folder = makeRepository(site.scratch, 'queued-cancel', { 'a.txt': 'one\n' });
  const pause = (method: 'PUT' | 'DELETE', headers: Readonly<Record<string, string>> = {}) =>
    site.client.json('/v1/intake/fleet', pausedIntakesSchema, {
      method,
      headers,
      ...(method === 'PUT' ? { body: {} } : {}),
    });
  const { paused } = await pause('PUT');
  t.after(async () => {
    const fleet = paused.find(({ scope }) => scope === 'fleet');
    await pause('DELETE', { 'if-match': `"${fleet?.version ?? 0}"` });
  });
  const editor = startEditor(t, () => 'approve');
  await editor.agent.request(methods.agent.initialize, initialize);
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: folder,
    mcpServers: [],
  });
  const waits = editor.hears(
    (update) =>
      update.sessionUpdate === 'agent_thought_chunk' &&
      update.content.type === 'text' &&
      update.content.text.startsWith('pending'),
  );
  const answered = editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'look around' }],
  });
  await waits;
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  assert.equal((await answered).stopReason, 'cancelled');
  const { state } = await site.client.json(
    `/v1/sessions/${fleetSession(sessionId)}`,
    z.object({ state: z.string() }),
  );
  assert.equal(state, 'user_stopped');
  await editor.leave();
});

test('what a sub-agent asks is answered in the editor, in the sub-agent’s own session', async (t) => {
  const folder = makeRepository(site.scratch, 'delegated', { 'README.md': '# Plain\n' });
  await site.client.json('/v1/projects', z.unknown(), {
    method: 'POST',
    body: {
      id: 'delegates',
      policy: 'tools: {delegate: allow, list_files: ask, read_file: allow, search_files: allow}\n',
    },
  });
  const editor = startEditor(t, () => 'approve', {}, ['--project', 'delegates']);
  await editor.agent.request(methods.agent.initialize, initialize);
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: folder,
    mcpServers: [],
  });
  const { stopReason } = await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: 'delegate `say what is here`' }],
  });
  assert.equal(stopReason, 'end_turn');
  assert.ok(editor.asked.length > 0);
  for (const { sessionId: of, toolCall } of editor.asked) {
    assert.equal(of, sessionId, 'the editor knows one conversation');
    assert.match(toolCall.title ?? '', /^list_files/);
  }
  assert.match(editor.text(), /has reported: The sub-agent has finished/);
  const approvals = z.object({ approvals: z.array(z.object({ state: z.string() })) });
  const parent = fleetSession(sessionId);
  const { sessions } = await site.client.json(
    '/v1/sessions?limit=100',
    z.object({ sessions: z.array(z.object({ id: z.string(), parent: z.string().nullable() })) }),
  );
  const child = sessions.find((session) => session.parent === parent);
  const decided = await site.client.json(`/v1/sessions/${child?.id ?? ''}/approvals`, approvals);
  assert.deepEqual(
    decided.approvals.map(({ state }) => state),
    editor.asked.map(() => 'approved'),
  );
  assert.deepEqual(await site.client.json(`/v1/sessions/${parent}/approvals`, approvals), { approvals: [] });
  await editor.leave();
});
