import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import { approvalViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { z } from 'zod';
import { until } from '../testing/until.ts';
import { assertNothingRuns, makeRepository, positionsAreDense, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { watchSession } from './watched-session.ts';
import type { WatchedSession } from './watched-session.ts';

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: allow}
freeCommands: [./note, ./slow]
`;

before(async () => {
  // Nothing is stored but by the drain itself, and a loss would be an end.
  site = await startTestFleet({ LEMNISCATE_CHECKPOINT_SECONDS: '0', LEMNISCATE_MAX_LOSSES: '0' });
  folder = makeRepository(site.scratch, 'plain', {
    'main.py': 'print("hello")\n',
    note: '#!/bin/sh\necho noted >> notes.txt\n',
    slow: '#!/bin/sh\necho begun >> slow.txt\necho it has begun\nsleep 600\necho done >> slow.txt\n',
  });
  for (const program of ['note', 'slow']) chmodSync(join(folder, program), 0o755);
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'lab', policy } });
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

const servers = z.object({
  servers: z.array(
    z.looseObject({ id: z.string(), version: z.number(), held: z.number(), usable: z.number() }),
  ),
});
const serverNamed = async (name: string) => {
  const { servers: all } = await site.client.json('/v1/servers', servers);
  const found = all.find(({ id }) => id === name);
  assert.ok(found, name);
  return found;
};

async function drain(name: string, method: 'PUT' | 'DELETE'): Promise<void> {
  const { version } = await serverNamed(name);
  const answer = await site.client.open(`/v1/servers/${name}/drain`, {
    method,
    headers: { 'if-match': `"${version}"` },
    ...(method === 'PUT' ? { body: { deadlineSeconds: 0 } } : {}),
  });
  assert.equal(answer.status, 204);
}

const isState = (state: string) => (event: SessionEvent) => event.type === 'state' && event.state === state;
const isAwaited = (event: SessionEvent) => event.type === 'message' && event.state === 'awaited';
const post = (session: WatchedSession, path: string, body: object = {}) =>
  site.client.json(`/v1/sessions/${session.id}/${path}`, z.unknown(), { method: 'POST', body });

/** The session's server, which is then drained at once, without time for anybody to finish. */
async function drainServerOf(session: WatchedSession): Promise<string> {
  const { server } = await session.view();
  assert.ok(server !== null);
  await drain(server, 'PUT');
  return server;
}

async function useAgain(name: string): Promise<void> {
  await until(`${name} is empty`, async () => (await serverNamed(name)).held === 0);
  await drain(name, 'DELETE');
  await until(`${name} is used again`, async () => (await serverNamed(name)).usable > 0);
}

async function patchOf(session: WatchedSession): Promise<string> {
  return Buffer.from(await readPatch(site.client, session.id)).toString('utf8');
}

test('what works on a drained server at its deadline goes on by itself on another, with all that it had done', async () => {
  const session = await watchSession(site, {
    repositoryFolder: folder,
    instruction: 'run `./note`',
    followUps: true,
  });
  await session.seen('the first answer', isAwaited);
  await post(session, 'messages', { text: 'run `./slow`' });
  await session.seen(
    'the long command',
    (event) => event.type === 'tool_call' && event.tool === 'run_command' && event.state === 'calling',
    2,
  );
  await session.seen(
    'what it says',
    (event) => event.type === 'output' && event.text.includes('it has begun'),
  );
  const first = await drainServerOf(session);
  await session.seen('stored', (event) => event.type === 'checkpoint' && event.cause === 'pause');
  await session.seen('its second answer', isAwaited, 2);
  const view = await session.view();
  assert.notEqual(view.server, first);
  assert.equal(view.attempt, 2);
  const states = session.events.flatMap(({ event }) => (event.type === 'state' ? [event.reason] : []));
  assert.ok(states.includes('drained'), 'no person was asked');
  await post(session, 'messages', { text: 'run `./note`' });
  await session.seen('its third answer', isAwaited, 3);
  await post(session, 'finish');
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.reason], ['completed', 'finished'], ended.message ?? '');
  const added = (await patchOf(session)).split('\n').filter((line) => /^\+[a-z]/.test(line));
  assert.deepEqual(
    added.toSorted(),
    ['+begun', '+noted', '+noted'],
    'nothing is lost, and nothing was done twice',
  );
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
  await useAgain(first);
});

test('what waits for a decision on a drained server leaves it, and goes on elsewhere when somebody decides', async () => {
  const session = await watchSession(site, { repositoryFolder: folder, instruction: 'run `touch asked`' });
  await session.seen('the question', (event) => event.type === 'approval' && event.state === 'waiting');
  const first = await drainServerOf(session);
  await session.seen('put away', isState('paused'));
  assert.equal((await session.view()).reason, 'awaiting_approval');
  const { approvals } = await site.client.json(
    '/v1/approvals',
    z.object({ approvals: z.array(approvalViewSchema) }),
  );
  const approval = approvals.find(({ sessionId }) => sessionId === session.id);
  assert.ok(approval);
  await site.client.json(`/v1/sessions/${session.id}/approvals/${approval.id}`, z.unknown(), {
    method: 'POST',
    body: { decision: 'approve', argumentsDigest: approval.argumentsDigest },
  });
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.attempt], ['completed', 2], ended.message ?? '');
  assert.match(await patchOf(session), /asked/);
  await useAgain(first);
});
