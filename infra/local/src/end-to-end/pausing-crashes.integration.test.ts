import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { z } from 'zod';
import { fileSays } from './file-says.ts';
import {
  assertNothingRuns,
  makeRepository,
  positionsAreDense,
  shortLeases,
  startTestFleet,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { watchSession } from './watched-session.ts';
import type { WatchedSession } from './watched-session.ts';

const plans = mkdtempSync(join(tmpdir(), 'lemniscate-plans-'));
const plan = join(plans, 'plan.json');
const log = join(plans, 'log');

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, run_command: allow}
freeCommands: ['true', cat, ./change]
`;

/** What is done twice, or not at all, is seen in what is read. */
const change = `#!/bin/bash
echo changed | tee -a /home/agent/notes >> notes
`;

// a fleet of its own for each death: a service that dies too often in a short while is given up
beforeEach(async () => {
  writePlan([]);
  site = await startTestFleet({
    ...shortLeases,
    LEMNISCATE_CRASH_POINTS: plan,
    LEMNISCATE_PAUSE_AFTER_SECONDS: '1',
    // no other checkpoints than those of a pause
    LEMNISCATE_CHECKPOINT_SECONDS: '3600',
    LEMNISCATE_MAX_LOSSES: '3',
  });
  folder = makeRepository(site.scratch, 'plain', { change });
  chmodSync(join(folder, 'change'), 0o755);
  await post('/v1/projects', z.unknown(), { id: 'lab', policy });
});

afterEach(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

after(() => rmSync(plans, { recursive: true, force: true }));

/** The services look at the plan again and again: what they read is whole. */
function writePlan(todo: readonly string[]): void {
  writeFileSync(`${plan}.new`, JSON.stringify({ todo, chance: 0, seed: 1, log }));
  renameSync(`${plan}.new`, plan);
}

function post<Answer>(path: string, schema: z.ZodType<Answer>, body: object = {}): Promise<Answer> {
  return site.client.json(path, schema, { method: 'POST', body });
}

const timesIn = (text: string, line: string): number => text.split('\n').filter((one) => one === line).length;

/** The next agent server that comes to the point dies there; `died` waits for it, and nobody dies after it. */
async function arm(point: string): Promise<{ died(): Promise<void> }> {
  writeFileSync(log, '');
  writePlan([point]);
  const servers = site.fleet.services.filter(({ name }) => !['dispatcher', 'audit-exporter'].includes(name));
  assert.ok(servers.length > 0);
  for (const server of servers) {
    const pid = server.pid();
    assert.ok(pid !== undefined, `${server.name} runs`);
    process.kill(pid, 'SIGKILL');
  }
  const lives = (text: string) => timesIn(text, 'seen http.heartbeat:after');
  await fileSays(log, 'all agent servers live again', (text) => lives(text) === servers.length, 60_000);
  return {
    died: async () => {
      await fileSays(log, `a death at ${point}`, (text) => timesIn(text, `crashed ${point}`) > 0, 60_000);
      writePlan([]);
    },
  };
}

const isAwaited = (event: SessionEvent) => event.type === 'message' && event.state === 'awaited';
const isPaused = (event: SessionEvent) => event.type === 'state' && event.state === 'paused';
const isLoss = (event: SessionEvent) => event.type === 'state' && /was lost/.test(event.message ?? '');

async function say(session: WatchedSession, text: string): Promise<void> {
  const answered = session.events.filter(({ event }) => isAwaited(event)).length;
  await post(`/v1/sessions/${session.id}/messages`, z.unknown(), { text });
  await session.seen(`an answer to ${text}`, isAwaited, answered + 1);
}

async function pausedAgain(session: WatchedSession): Promise<void> {
  const answered = session.events.findLastIndex(({ event }) => isAwaited(event));
  const pauses = session.events.slice(0, answered).filter(({ event }) => isPaused(event)).length;
  await session.seen('paused', isPaused, pauses + 1);
}

/** A session that made a change and was paused, and then makes another while its server dies at the point. */
async function changedTwice(point: string): Promise<WatchedSession> {
  const session = await watchSession(site, { repositoryFolder: folder, followUps: true });
  await session.seen('the first answer', isAwaited);
  await say(session, 'run `./change`');
  await pausedAgain(session);
  const { died } = await arm(point);
  await Promise.all([died(), say(session, 'run `./change`')]);
  return session;
}

/** The session was told of the loss, and from which checkpoint it goes on. */
async function goesOnFrom(session: WatchedSession, checkpoint: number): Promise<void> {
  await session.seen('the loss', isLoss);
  const [loss] = session.events.flatMap(({ event }) =>
    event.type === 'state' && isLoss(event) ? [event.message ?? ''] : [],
  );
  assert.match(loss ?? '', new RegExp(`It goes on from checkpoint ${checkpoint}\\.`));
}

/** The session has each change once, and ends as others do. */
async function endsWhole(session: WatchedSession): Promise<void> {
  const from = session.events.length;
  await say(session, 'run `cat notes /home/agent/notes`');
  const output = session.events
    .slice(from)
    .map(({ event }) => (event.type === 'output' ? event.text : ''))
    .join('');
  assert.equal(timesIn(output, 'changed'), 4, output);
  await post(`/v1/sessions/${session.id}/finish`, z.unknown());
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.reason], ['completed', 'finished'], ended.message ?? '');
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
}

for (const point of ['disk snapshot.pack:after', 'http.takeCheckpoint:before'])
  test(`a server that dies in a pause at ${point} leaves the checkpoint before it in force`, async () => {
    const session = await changedTwice(point);
    await goesOnFrom(session, 1);
    await pausedAgain(session);
    await endsWhole(session);
  });

test('a server that dies when the checkpoint of a pause is on record loses nothing', async () => {
  const session = await changedTwice('http.takeCheckpoint:after');
  await pausedAgain(session);
  await endsWhole(session);
  assert.ok(!session.events.some(({ event }) => isLoss(event)));
});

for (const point of ['disk snapshot.download:after', 'disk snapshot.unpack:after'])
  test(`a server that dies while it brings a session back at ${point} leaves its checkpoint in force`, async () => {
    const session = await changedTwice(point);
    await goesOnFrom(session, 1);
    await endsWhole(session);
  });
