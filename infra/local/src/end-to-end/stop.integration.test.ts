import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import type { OpenRequest } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { z } from 'zod';
import { processesGone, sandboxOf } from './sandbox-processes.ts';
import { assertNothingRuns, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

// One gesture ends a session wherever it is: from the request to the sandbox that is no more, under a second.

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, write_file: allow, run_command: allow}
freeCommands: [./hang]
`;
/** Says that it runs, leaves a file behind, and hangs. */
const hang = '#!/bin/bash\necho unapproved > left-behind\necho hanging\nsleep "$1"\n';
const hangs = (seconds: number) => `/bin/bash ./hang ${seconds}`;
const toRun = (seconds: number) => `run \`./hang ${seconds}\``;

/** Lets so many sessions of the project run at once. */
async function letRun(maxConcurrent: number): Promise<void> {
  const path = '/v1/projects/held/queue';
  const seen = await site.client.open(path);
  await seen.body?.cancel();
  await site.client.json(path, z.unknown(), {
    method: 'PUT',
    body: { maxConcurrent },
    headers: { 'if-match': seen.headers.get('etag') ?? '' },
  });
}

before(async () => {
  site = await startTestFleet();
  folder = makeRepository(site.scratch, 'plain', { 'main.py': 'print("hello")\n', hang });
  // Not committed, and travels along all the same.
  chmodSync(join(folder, 'hang'), 0o755);
  for (const id of ['lab', 'held']) await post('/v1/projects', { id, policy });
  await letRun(0);
});
after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

const post = (path: string, body: object = {}) =>
  site.client.json(path, z.unknown(), { method: 'POST', body });
const view = (id: string) => site.client.json(`/v1/sessions/${id}`, sessionViewSchema);

async function open(instruction: string, more: Partial<OpenRequest> = {}): Promise<string> {
  const { session } = await openSession(
    site.client,
    { repositoryFolder: folder, instruction, project: 'lab', execution: 'server', ...more },
    AbortSignal.timeout(60_000),
  );
  return session.id;
}

/** Follows a session until an event is as wanted. */
async function seen(sessionId: string, what: string, look: (event: SessionEvent) => boolean): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  for await (const { event } of followSession(site.client, {
    sessionId,
    after: 0,
    signal,
    patienceMs: 30_000,
  }))
    if (look(event)) return;
  throw new Error(`session ${sessionId} ended before: ${what}`);
}

const isHanging = (event: SessionEvent) => event.type === 'output' && event.text.includes('hanging');
const isState = (state: string) => (event: SessionEvent) => event.type === 'state' && event.state === state;

/** Ends the session by the gesture. @returns from the request to the end of every process in `pids`, milliseconds */
async function end(id: string, how: 'stop' | 'revoke', pids: readonly number[] = []): Promise<number> {
  const began = performance.now();
  const ended = await site.client.json(`/v1/sessions/${id}/${how}`, sessionViewSchema, {
    method: 'POST',
    body: {},
  });
  await processesGone(pids);
  const span = performance.now() - began;
  assert.deepEqual([ended.state, ended.exitCode], ['user_stopped', how === 'stop' ? 130 : 4]);
  return span;
}

/** What it had written and nobody approved is nowhere: no diff, and no way to go on with it. */
async function nothingIsLeft(id: string): Promise<void> {
  assert.equal((await view(id)).diff, null);
  for (const path of ['diff/reject', 'resume', 'messages'])
    await assert.rejects(post(`/v1/sessions/${id}/${path}`, path === 'messages' ? { text: 'go on' } : {}));
  const { servers } = await site.client.json(
    '/v1/servers',
    z.object({ servers: z.array(z.looseObject({})) }),
  );
  assert.ok(servers.length > 0);
  assert.doesNotMatch(JSON.stringify(servers), new RegExp(id));
  assert.equal((await verifySessionChain(site.client, id)).fault, null);
}

function within(spans: readonly number[], told: (text: string) => void): void {
  told(`request to destroyed: ${spans.map((span) => span.toFixed(0)).join(' ')} ms`);
  const worst = Math.max(...spans);
  assert.ok(worst < 1_000, `the slowest took ${worst.toFixed(0)} ms`);
}

test('while a command hangs: stopped and revoked sessions are destroyed within a second', async (t) => {
  const spans: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const id = await open(toRun(61_000 + round));
    await seen(id, 'the command hangs', isHanging);
    const pids = sandboxOf(hangs(61_000 + round));
    assert.ok(pids.length > 1, 'the sandbox itself is watched, not only its command');
    spans.push(await end(id, round % 2 === 0 ? 'stop' : 'revoke', pids));
    if (round === 0) await nothingIsLeft(id);
  }
  within(spans, (text) => t.diagnostic(text));
});

test('put away: a paused session that holds no slot and no sandbox ends as fast, and its stored work with it', async (t) => {
  const spans: number[] = [];
  for (const how of ['stop', 'revoke'] as const) {
    const seconds = how === 'stop' ? 62_000 : 62_001;
    const id = await open(toRun(seconds), { interactive: true });
    await seen(id, 'the command hangs', isHanging);
    const pids = sandboxOf(hangs(seconds));
    await post(`/v1/sessions/${id}/pause`);
    await seen(id, 'put away', isState('paused'));
    await processesGone(pids);
    assert.equal((await view(id)).server, null);
    spans.push(await end(id, how));
    await nothingIsLeft(id);
  }
  within(spans, (text) => t.diagnostic(text));
});

test('held in the queue: a session that never had a slot ends at once, and never gets one', async (t) => {
  const spans: number[] = [];
  for (const how of ['stop', 'revoke'] as const) {
    const id = await open(toRun(63_000), { project: 'held' });
    assert.deepEqual([(await view(id)).state, (await view(id)).attempt], ['pending', 0]);
    spans.push(await end(id, how));
    await nothingIsLeft(id);
  }
  within(spans, (text) => t.diagnostic(text));
  // the queue opens, and what was stopped does not come back
  await letRun(1);
  const next = await open('run `true`', { project: 'held' });
  await seen(next, 'it runs', isState('running'));
  const { sessions } = await site.client.json(
    '/v1/sessions?limit=50',
    z.object({ sessions: z.array(sessionViewSchema) }),
  );
  const held = sessions.filter(({ project, id }) => project === 'held' && id !== next);
  assert.deepEqual(
    held.map(({ state, attempt }) => [state, attempt]),
    [
      ['user_stopped', 0],
      ['user_stopped', 0],
    ],
  );
  await end(next, 'stop');
});

test('just opened and starting: whatever the moment, nothing of it stays', async (t) => {
  const spans: number[] = [];
  for (const state of ['pending', 'starting', 'running']) {
    const id = await open(toRun(64_000));
    await seen(id, state, isState(state));
    spans.push(await end(id, 'stop'));
    await nothingIsLeft(id);
  }
  within(spans, (text) => t.diagnostic(text));
});
