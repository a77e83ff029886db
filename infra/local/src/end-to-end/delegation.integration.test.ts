import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import { assertNothingRuns, makeRepository, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, list_files: allow, search_files: allow, run_command: allow, delegate: allow}
freeCommands: [sleep, 'true']
`;

before(async () => {
  // two slots in all
  site = await startTestFleet({ LEMNISCATE_CAPACITY: '1' });
  folder = makeRepository(site.scratch, 'plain', { 'main.py': 'print("hello")\n', 'README.md': '# Plain\n' });
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'lab', policy } });
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

const readSession = (id: string) => site.client.json(`/v1/sessions/${id}`, sessionViewSchema);

test('a sub-agent works in a session and sandbox of its own and its report comes back', async () => {
  const children: string[] = [];
  const { session, audit } = await runSession(
    site,
    { repositoryFolder: folder, instruction: 'delegate `say what is here`', project: 'lab' },
    ({ event }) => {
      if (event.type === 'delegation' && event.state === 'opened') children.push(event.sessionId);
    },
  );
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.match(session.message ?? '', /has reported: The sub-agent has finished/);
  assert.equal(audit.fault, null);
  const [child = '', ...more] = children;
  assert.equal(more.length, 0);
  const below = await readSession(child);
  assert.deepEqual([below.state, below.parent, below.openedBy], ['completed', session.id, session.openedBy]);
  assert.equal((await verifySessionChain(site.client, child)).fault, null);
});

test('a stop of the parent ends the sub-agent that hangs in a command', async () => {
  let child = '';
  const { session } = await runSession(
    site,
    { repositoryFolder: folder, instruction: 'delegate `say what is here`', project: 'lab' },
    async ({ event }) => {
      if (event.type !== 'delegation' || event.state !== 'opened') return;
      child = event.sessionId;
      const { parent } = await readSession(child);
      await site.client.json(`/v1/sessions/${parent ?? ''}/stop`, z.unknown(), { method: 'POST', body: {} });
    },
  );
  assert.equal(session.state, 'user_stopped');
  assert.deepEqual(
    [(await readSession(child)).state, (await readSession(child)).exitCode],
    ['user_stopped', 130],
  );
});

test('in a full fleet a parent frees its slot for the one that it waits for', async () => {
  const paused: string[] = [];
  const request = { repositoryFolder: folder, project: 'lab', execution: 'server' } as const;
  const { session: occupant } = await openSession(
    site.client,
    { ...request, instruction: 'run `sleep 3600`' },
    AbortSignal.timeout(60_000),
  );
  // the parent has the last slot
  const { session, audit } = await runSession(
    site,
    { ...request, instruction: 'delegate `say what is here`' },
    ({ event }) => {
      if (event.type === 'state' && event.state === 'paused') paused.push(event.reason ?? '');
    },
  );
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.match(session.message ?? '', /has reported: The sub-agent has finished/);
  assert.equal(audit.fault, null);
  assert.deepEqual(paused, ['awaiting_sub_agent']);
  await site.client.json(`/v1/sessions/${occupant.id}/stop`, z.unknown(), { method: 'POST', body: {} });
});
