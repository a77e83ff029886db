import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { Client } from 'pg';
import { z } from 'zod';
import { assertNothingRuns, makeRepository, positionsAreDense, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { watchSession } from './watched-session.ts';
import type { WatchedSession } from './watched-session.ts';

// The leases of a fleet as it is shipped.
const leaseMs = 15_000;
const graceMs = 5_000;
/** The reaper looks once a second, and this machine has other things to do. */
const lookMs = 2_000;

let site: TestFleet;
let record: Client;
let folder: string;

before(async () => {
  site = await startTestFleet({ LEMNISCATE_CHECKPOINT_SECONDS: '1' });
  record = new Client({ connectionString: site.fleet.stores.databaseUrl });
  await record.connect();
  folder = makeRepository(site.scratch, 'plain', {
    'main.py': 'print("hello")\n',
    note: '#!/bin/sh\nsleep 1.2\necho noted >> notes.txt\n',
    work: '#!/bin/sh\necho begun >> work.txt\necho at work\nsleep 4\necho done >> work.txt\n',
  });
  for (const program of ['note', 'work']) chmodSync(join(folder, program), 0o755);
  const policy = `tools: {read_file: allow, run_command: allow}\nfreeCommands: [./note, ./work]\n`;
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'lab', policy } });
});

after(async () => {
  await record.end();
  // A server clears away at its next start what it left; this one has none.
  for (const mount of mountsBelow(site.scratch).toReversed()) execFileSync('umount', ['--lazy', mount]);
  await site.stop();
  await assertNothingRuns(site.scratch);
});

function mountsBelow(folder: string): string[] {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return mounts.flatMap((line) => line.split(' ')[1] ?? []).filter((mount) => mount.startsWith(folder));
}

const isAwaited = (event: SessionEvent) => event.type === 'message' && event.state === 'awaited';
const post = (session: WatchedSession, path: string, body: object = {}) =>
  site.client.json(`/v1/sessions/${session.id}/${path}`, z.unknown(), { method: 'POST', body });

/** Killed, and not started again. */
async function takeAway(name: string): Promise<void> {
  const service = site.fleet.services.find((candidate) => candidate.name === name);
  const pid = service?.pid();
  assert.ok(service !== undefined && pid !== undefined, `${name} runs`);
  process.kill(pid, 'SIGKILL');
  await service.stop();
}

async function row<Row extends object>(text: string, id: string): Promise<Row> {
  const { rows } = await record.query<Row>(text, [id]);
  const [found] = rows;
  assert.ok(found !== undefined);
  return found;
}

test('a server that is gone for good costs a lease and its grace; the session goes on from its checkpoint on another', async () => {
  const session = await watchSession(site, {
    repositoryFolder: folder,
    instruction: 'run `./note`',
    followUps: true,
  });
  await session.seen('the first answer', isAwaited);
  await post(session, 'messages', { text: 'run `./note`' });
  await session.seen('the second answer', isAwaited, 2);
  await session.seen('a checkpoint', (event) => event.type === 'checkpoint' && event.cause === 'interval');
  await post(session, 'messages', { text: 'run `./work`' });
  await session.seen('the work', (event) => event.type === 'output' && event.text.includes('at work'));
  const at = await session.view();
  assert.ok(at.server !== null && at.budget !== null);
  await takeAway(at.server);
  await session.seen('its loss', (event) => event.type === 'state' && event.state === 'pending', 2);

  const lost = await row<{ silent_ms: number; state: string }>(
    `SELECT state, (extract(epoch FROM ended_at - lease_expires_at) * 1000)::float8 + ${leaseMs} AS silent_ms
     FROM attempts WHERE session_id = $1 AND attempt = 1`,
    session.id,
  );
  assert.equal(lost.state, 'lost');
  assert.ok(lost.silent_ms >= leaseMs + graceMs, `not sooner: ${lost.silent_ms}`);
  assert.ok(lost.silent_ms <= leaseMs + graceMs + lookMs, `not later: ${lost.silent_ms}`);

  await session.seen('the third answer', isAwaited, 3);
  await post(session, 'finish');
  const ended = await session.ended();
  assert.deepEqual(
    [ended.state, ended.reason, ended.attempt],
    ['completed', 'finished', 2],
    ended.message ?? '',
  );
  const placed = await row<{ after_ms: number; server: string }>(
    `SELECT second.server_id AS server, (extract(epoch FROM second.created_at - first.ended_at) * 1000)::float8 AS after_ms
     FROM attempts first JOIN attempts second ON second.session_id = first.session_id AND second.attempt = 2
     WHERE first.session_id = $1 AND first.attempt = 1`,
    session.id,
  );
  assert.notEqual(placed.server, at.server);
  assert.ok(placed.after_ms <= lookMs, `the other had room at once: ${placed.after_ms}`);
  assert.ok(
    session.events.some(({ event }) => event.type === 'state' && /from checkpoint/.test(event.message ?? '')),
  );

  // Its budget came along: what was used stays used, and the time without a server was none of it.
  const budget = await row<{ actions: number; first_tokens: number; all_tokens: number; lost_ms: number }>(
    `SELECT s.actions_used AS actions,
       (SELECT sum(output_tokens)::float8 FROM usage WHERE session_id = s.id AND attempt = 1) AS first_tokens,
       (SELECT sum(output_tokens)::float8 FROM usage WHERE session_id = s.id) AS all_tokens,
       (SELECT sum(extract(epoch FROM until - since) * 1000)::float8 FROM session_pauses WHERE session_id = s.id AND reason = 'lost') AS lost_ms
     FROM sessions s WHERE s.id = $1`,
    session.id,
  );
  assert.ok(budget.actions > at.budget.actionsUsed);
  assert.ok(budget.first_tokens > 0 && budget.all_tokens > budget.first_tokens);
  assert.equal(ended.usage.outputTokens, budget.all_tokens);
  assert.ok(budget.lost_ms > 0);
  assert.equal(ended.runningAt, at.runningAt, 'its minutes count from where they did');

  const patch = Buffer.from(await readPatch(site.client, session.id)).toString('utf8');
  const added = patch.split('\n').filter((line) => /^\+[a-z]/.test(line));
  assert.deepEqual(
    added.toSorted(),
    ['+begun', '+done', '+noted', '+noted'],
    'nothing is lost or done twice',
  );
  assert.ok(positionsAreDense(session.events));
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
});
