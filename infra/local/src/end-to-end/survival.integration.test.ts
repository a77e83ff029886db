import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { Redis } from 'ioredis';
import { z } from 'zod';
import {
  assertNothingRuns,
  positionsAreDense,
  runSession,
  sampleRepository,
  startTestFleet,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;
let expected: string;

before(async () => {
  site = await startTestFleet();
  const calm = await runSession(site, { repositoryFolder: sampleRepository(site.scratch, 'calm') });
  assert.equal(calm.session.state, 'completed', calm.session.message ?? '');
  expected = calm.patch;
  assert.notEqual(expected, '');
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

/** Does something once, in the middle of the work: when the first command begins. */
function atFirstCommand(act: (event: PositionedEvent) => Promise<void> | void) {
  let acted = false;
  return async (event: PositionedEvent): Promise<void> => {
    if (acted || event.event.type !== 'tool_call' || event.event.tool !== 'run_command') return;
    if (event.event.state !== 'calling') return;
    acted = true;
    await act(event);
  };
}

function killService(name: string): void {
  const service = site.fleet.services.find((candidate) => candidate.name === name);
  const pid = service?.pid();
  assert.ok(pid !== undefined, `${name} runs`);
  process.kill(pid, 'SIGKILL');
}

async function serverOf(sessionId: string): Promise<string> {
  const { server } = await site.client.json(`/v1/sessions/${sessionId}`, sessionViewSchema);
  assert.ok(server !== null);
  return server;
}

async function endsTheSame(
  name: string,
  act: (event: PositionedEvent, sessionId: string) => Promise<void> | void,
) {
  const folder = sampleRepository(site.scratch, name);
  let sessionId = '';
  const sessions = z.object({ sessions: z.array(sessionViewSchema) });
  let acts = 0;
  const { session, events, patch, audit } = await runSession(
    site,
    { repositoryFolder: folder },
    atFirstCommand(async (event) => {
      const page = await site.client.json('/v1/sessions?limit=1', sessions);
      sessionId = page.sessions[0]?.id ?? '';
      acts += 1;
      await act(event, sessionId);
    }),
  );
  assert.equal(acts, 1, 'it was done in the middle of the session');
  assert.equal(session.id, sessionId);
  assert.equal(session.state, 'completed', `${session.reason}: ${session.message}`);
  assert.equal(patch, expected);
  assert.ok(positionsAreDense(events), 'the reader missed nothing and saw nothing twice');
  assert.equal(audit.fault, null);
  return session;
}

test('kill -9 of the dispatcher in the middle of a session', async () => {
  const session = await endsTheSame('dispatcher', () => killService('dispatcher'));
  assert.equal(session.attempt, 1, 'the session went on where it was');
});

test('kill -9 of the agent server in the middle of a session', async () => {
  const session = await endsTheSame('agent-server', async (_event, id) => killService(await serverOf(id)));
  assert.equal(session.attempt, 2);
});

test('kill -9 of the audit exporter in the middle of a session', async () => {
  await endsTheSame('exporter', () => killService('audit-exporter'));
});

test('FLUSHALL in the middle of a session', async () => {
  await endsTheSame('flushall', async () => {
    const redis = new Redis(site.fleet.stores.redisUrl);
    await redis.flushall();
    redis.disconnect();
  });
});
