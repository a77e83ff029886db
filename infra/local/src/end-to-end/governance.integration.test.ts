import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { assertNothingRuns, makeRepository, runSession, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;
let folder: string;

const policy = `
tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: allow}
freeCommands: [sleep, 'true']
`;

before(async () => {
  site = await startTestFleet();
  folder = makeRepository(site.scratch, 'plain', { 'main.py': 'print("hello")\n', 'README.md': '# Plain\n' });
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'lab', policy } });
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

const post = (path: string, body: object) => site.client.json(path, z.unknown(), { method: 'POST', body });

test('a terminal run that nobody follows and that runs out of actions ends with exit 3 and its last words', async () => {
  const child = spawn(
    process.execPath,
    [
      join(projectRoot, 'clients/cli/bin/lemniscate.mjs'),
      'run',
      'say what is here',
      '--repo',
      folder,
      '--project',
      'lab',
      '--json',
    ],
    {
      env: {
        ...site.environment,
        TMPDIR: site.scratch,
        LEMNISCATE_AGENT_EXECUTION: 'server',
        LEMNISCATE_SESSION_MAX_ACTIONS: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 3, stderr);
  const summary = z
    .object({ state: z.string(), reason: z.string(), toolCalls: z.array(z.unknown()) })
    .parse(JSON.parse(stdout));
  assert.deepEqual([summary.state, summary.reason], ['failed', 'budget_actions']);
  assert.match(stderr, /maxActions is 1 instead of 150: tighter/);
});

test('an interactive session asks for an extension, gets it and finishes', async () => {
  const asked: number[] = [];
  const { session, audit } = await runSession(
    site,
    {
      repositoryFolder: folder,
      instruction: 'say what is here',
      project: 'lab',
      interactive: true,
      bounds: { maxActions: 1 },
    },
    async ({ event }) => {
      if (event.type !== 'extension' || event.state !== 'waiting') return;
      asked.push(event.used.actions);
      await post(`/v1/sessions/${(await newest()).id}/extension`, {
        decision: 'extend',
        number: event.number,
      });
    },
  );
  assert.equal(session.state, 'completed', session.message ?? '');
  assert.deepEqual(asked, [1]);
  assert.equal(audit.fault, null);
  const { budget } = session;
  assert.ok(budget !== null);
  const { actions, actionsUsed, minutes, minutesUsed, extensionsLeft } = budget;
  assert.deepEqual({ actions, minutes, extensionsLeft }, { actions: 51, minutes: 60, extensionsLeft: 4 });
  assert.ok(actionsUsed > 1 && minutesUsed < minutes, JSON.stringify(budget));
});

test('a session that stays answers a further message and is finished by its person', async () => {
  const said: string[] = [];
  const { session, audit } = await runSession(
    site,
    {
      repositoryFolder: folder,
      instruction: 'run `true`',
      project: 'lab',
      interactive: true,
      followUps: true,
    },
    async ({ event }) => {
      if (event.type === 'message' && event.state === 'sent') said.push(event.text ?? '');
      if (event.type !== 'message' || event.state !== 'awaited') return;
      const { id } = await newest();
      if (said.length === 0) await post(`/v1/sessions/${id}/messages`, { text: 'run `true`' });
      else await post(`/v1/sessions/${id}/finish`, {});
    },
  );
  assert.deepEqual([session.state, session.reason], ['completed', 'finished']);
  assert.deepEqual(said, ['run `true`']);
  assert.equal(audit.fault, null);
});

async function newest(): Promise<{ readonly id: string }> {
  const page = await site.client.json(
    '/v1/sessions?limit=1',
    z.object({ sessions: z.array(z.object({ id: z.string() })) }),
  );
  const [session] = page.sessions;
  assert.ok(session);
  return session;
}
