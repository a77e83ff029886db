import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import type { OpenRequest } from '@lemniscate/cli/open-session.ts';
import { approvalViewSchema, sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { z } from 'zod';
import {
  assertNothingRuns,
  makeRepository,
  positionsAreDense,
  shortLeases,
  startTestFleet,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { killServerOf, watchSession } from './watched-session.ts';
import type { WatchedSession } from './watched-session.ts';

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: allow}
freeCommands: [sleep, 'true', ./plant, ./show]
`;

/** A tree of everything that an archive can lose. */
const plant = `#!/bin/bash
set -e
mkdir -p "$1"; cd "$1"
mkdir -p d/deep empty locked; chmod 1777 empty; echo one > d/a; ln d/a d/deep/same
ln -s /etc/passwd absolute; ln -s nowhere dangling; truncate -s 8M hole; echo end >> hole; mkfifo pipe
printf x > $'new\\nline'; chmod 751 d/a; touch -d '2001-02-03 04:05:06.123456789Z' d/a empty
echo secret > locked/file; chmod 000 locked
`;
const show = `#!/bin/bash
for root in /workspace /home/agent; do
  cd "$root"
  [ -d tree ] || continue
  echo "$root"
  chmod u+rx tree/locked
  find tree -printf '%m %n %T@ %l %b %P\\0' | sort -z | tr '\\0' '\\n' | grep -v ' locked$'
  find tree -type f -print0 | sort -z | xargs -0 sha256sum
  chmod 000 tree/locked
done
`;

before(async () => {
  site = await startTestFleet({
    ...shortLeases,
    LEMNISCATE_PAUSE_AFTER_SECONDS: '2',
    LEMNISCATE_CHECKPOINT_SECONDS: '1',
    LEMNISCATE_MAX_LOSSES: '1',
  });
  folder = makeRepository(site.scratch, 'plain', { 'main.py': 'print("hello")\n', plant, show });
  // Not committed, and travels along all the same.
  for (const program of ['plant', 'show']) chmodSync(join(folder, program), 0o755);
  await post('/v1/projects', z.unknown(), { id: 'lab', policy });
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

function post<Answer>(path: string, schema: z.ZodType<Answer>, body: object = {}): Promise<Answer> {
  return site.client.json(path, schema, { method: 'POST', body });
}

/** A session with everything that has been seen of it so far. */
const watched = (request: Partial<OpenRequest>) =>
  watchSession(site, { repositoryFolder: folder, ...request });

const isState = (state: string) => (event: SessionEvent) => event.type === 'state' && event.state === state;
const isAwaited = (event: SessionEvent) => event.type === 'message' && event.state === 'awaited';

/** The server that a paused session was on has nothing of it any more. */
async function holdsNothing(id: string): Promise<void> {
  const schema = z.object({ servers: z.array(z.looseObject({ id: z.string() })) });
  const { servers } = await site.client.json('/v1/servers', schema);
  assert.ok(servers.length > 0);
  assert.doesNotMatch(JSON.stringify(servers), new RegExp(id));
}

function outputOf({ events }: WatchedSession, from = 0): string {
  return events
    .slice(from)
    .map(({ event }) => (event.type === 'output' ? event.text : ''))
    .join('');
}

async function say(session: WatchedSession, text: string): Promise<void> {
  const before = session.events.filter(({ event }) => isAwaited(event)).length;
  await post(`/v1/sessions/${session.id}/messages`, z.unknown(), { text });
  await session.seen(`an answer to ${text}`, isAwaited, before + 1);
}

test('paused and resumed twice, a session has everything that it had, and its slot was free meanwhile', async () => {
  const session = await watched({ followUps: true });
  await session.seen('the first answer', isAwaited);
  await say(session, 'run `./plant tree`');
  await say(session, 'run `./plant /home/agent/tree`');
  let from = session.events.length;
  await say(session, 'run `./show`');
  const first = outputOf(session, from);
  assert.match(first, /dangling/);
  assert.match(first, /home/);
  for (let round = 1; round <= 2; round += 1) {
    // It waits for longer than the fleet lets it hold its slot.
    await session.seen('paused', isState('paused'), round);
    const view = await session.view();
    assert.deepEqual([view.state, view.reason, view.server], ['paused', 'awaiting_message', null]);
    await holdsNothing(session.id);
    from = session.events.length;
    await say(session, 'run `./show`');
    assert.equal(outputOf(session, from), first, `round ${round}`);
  }
  await post(`/v1/sessions/${session.id}/finish`, z.unknown());
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.reason], ['completed', 'finished'], ended.message ?? '');
  assert.ok(ended.attempt >= 3);
  assert.ok(ended.diff !== null && ended.diff.files.some(({ path }) => path === 'tree/d/a'));
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
});

test('a person pauses a session in the middle of a command; it goes on when they say so', async () => {
  const session = await watched({ instruction: 'run `sleep 600`' });
  await session.seen('the command', (event) => event.type === 'tool_call' && event.state === 'calling');
  await post(`/v1/sessions/${session.id}/pause`, sessionViewSchema);
  await session.seen('paused', isState('paused'));
  assert.equal((await session.view()).reason, 'by_person');
  await holdsNothing(session.id);
  const resumed = await post(`/v1/sessions/${session.id}/resume`, sessionViewSchema);
  assert.equal(resumed.state, 'pending');
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.attempt], ['completed', 2], ended.message ?? '');
  const said = session.events.map(({ event }) => (event.type === 'text' ? event.text : '')).join('');
  assert.match(said, /stopped because the session was paused/);
});

test('an approval that waits frees the slot, and the decision counts once, where the session then is', async () => {
  const session = await watched({ instruction: 'run `touch asked`' });
  await session.seen('the question', (event) => event.type === 'approval' && event.state === 'waiting');
  await session.seen('paused', isState('paused'));
  assert.equal((await session.view()).reason, 'awaiting_approval');
  await holdsNothing(session.id);
  const refused = await post(`/v1/sessions/${session.id}/resume`, z.unknown()).catch(
    (error: unknown) => error,
  );
  assert.match(String(refused), /waits for a decision/);
  const { approvals } = await site.client.json(
    '/v1/approvals',
    z.object({ approvals: z.array(approvalViewSchema) }),
  );
  const approval = approvals.find(({ sessionId }) => sessionId === session.id);
  assert.ok(approval);
  await post(`/v1/sessions/${session.id}/approvals/${approval.id}`, z.unknown(), {
    decision: 'approve',
    argumentsDigest: approval.argumentsDigest,
  });
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.attempt], ['completed', 2], ended.message ?? '');
  assert.deepEqual(
    ended.diff?.files.map(({ path }) => path),
    ['asked'],
  );
  const states = session.events.flatMap(({ event }) => (event.type === 'tool_call' ? [event.state] : []));
  assert.deepEqual(states, ['generating', 'generated', 'calling', 'done']);
  const questions = session.events.filter(
    ({ event }) => event.type === 'approval' && event.state === 'waiting',
  );
  assert.equal(questions.length, 1);
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
});

test('a session that waits for a slot or is over is paused as a person expects', async () => {
  const session = await watched({ instruction: 'run `true`' });
  await session.ended();
  const refused = await post(`/v1/sessions/${session.id}/pause`, z.unknown()).catch(
    (error: unknown) => error,
  );
  assert.match(String(refused), /has ended/);
});

const isRunning = (title: string) => (event: SessionEvent) =>
  event.type === 'tool_call' && event.state === 'generated' && event.title === title;
const isCheckpoint = (event: SessionEvent) => event.type === 'checkpoint' && event.cause === 'interval';

test('a lost server costs what was done since the last checkpoint; lost too often, the checkpoint’s diff is offered', async () => {
  const session = await watched({ followUps: true, instruction: 'run `./plant tree`' });
  await session.seen('the first answer', isAwaited);
  // Long enough that the next boundary is due for a checkpoint.
  await say(session, 'run `sleep 1.5`');
  await session.seen('a checkpoint', isCheckpoint);
  const numbers = () =>
    session.events.flatMap(({ event }) => (event.type === 'checkpoint' ? [event.number] : []));
  await post(`/v1/sessions/${session.id}/messages`, z.unknown(), { text: 'run `sleep 6`' });
  await session.seen('the command', isRunning('sleep 6'));
  const last = numbers().at(-1);
  await killServerOf(site, session);
  await session.seen('the loss', (event) => event.type === 'state' && /was lost/.test(event.message ?? ''));
  const told = session.events.flatMap(({ event }) => (event.type === 'state' ? [event.message ?? ''] : []));
  assert.match(told.join('\n'), new RegExp(`It goes on from checkpoint ${last}\\.`));
  // The message that was being worked on is worked on again, and nothing before it.
  await session.seen('the same command', isRunning('sleep 6'), 2);
  const plants = session.events.filter(({ event }) => isRunning('./plant tree')(event));
  assert.equal(plants.length, 1, 'what the checkpoint holds is not done again');
  await session.seen('an answer after the loss', isAwaited, 3);
  const from = session.events.length;
  await say(session, 'run `./show`');
  assert.match(outputOf(session, from), /dangling/);
  await post(`/v1/sessions/${session.id}/messages`, z.unknown(), { text: 'run `sleep 7`' });
  await session.seen('the last command', isRunning('sleep 7'));
  await killServerOf(site, session);
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.reason], ['failed', 'server_lost'], ended.message ?? '');
  assert.ok(
    ended.diff?.files.some(({ path }) => path === 'tree/d/a'),
    JSON.stringify(ended.diff),
  );
  assert.equal(ended.diff?.state, 'offered');
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
});
