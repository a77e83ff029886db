import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { approvalViewSchema, toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { assertNothingRuns, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { killServerOf, watchSession } from './watched-session.ts';

let site: TestFleet;
let folder: string;

before(async () => {
  site = await startTestFleet();
  folder = makeRepository(site.scratch, 'plain', { 'main.py': 'print("hello")\n' });
  const policy = 'tools: {run_command: ask}\n';
  await post('/v1/projects', { id: 'lab', policy });
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

const post = (path: string, body: object) => site.client.json(path, z.unknown(), { method: 'POST', body });

const toolCallsSchema = z.object({ toolCalls: z.array(toolCallViewSchema) });
const approvals = z.object({ approvals: z.array(approvalViewSchema) });

/** What waits in a session; asked again while the dispatcher comes back. */
async function waitingIn(sessionId: string): Promise<ApprovalView[]> {
  for (let left = 300; ; left -= 1) {
    try {
      const list = await site.client.json(`/v1/sessions/${sessionId}/approvals`, approvals);
      return list.approvals.filter(({ state }) => state === 'waiting');
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function kill(name: string): void {
  const pid = site.fleet.services.find((service) => service.name === name)?.pid();
  assert.ok(pid !== undefined, `${name} runs`);
  process.kill(pid, 'SIGKILL');
}

test('a question survives the dispatcher, Redis and the agent server; its answer counts once, where the session then is', async () => {
  const session = await watchSession(site, {
    repositoryFolder: folder,
    instruction: 'run `touch asked`',
  });
  await session.seen('the question', (event) => event.type === 'approval' && event.state === 'waiting');
  const [asked] = await waitingIn(session.id);
  assert.ok(asked);

  kill('dispatcher');
  assert.deepEqual(await waitingIn(session.id), [asked], 'the dispatcher is another one');

  const redis = new Redis(site.fleet.stores.redisUrl);
  await redis.flushall();
  redis.disconnect();
  assert.deepEqual(await waitingIn(session.id), [asked], 'Redis is empty');

  await killServerOf(site, session);
  await session.seen('another attempt', (event) => event.type === 'state' && event.attempt === 2);
  const waiting = (await waitingIn(session.id)).map(({ id, argumentsDigest }) => [id, argumentsDigest]);
  assert.deepEqual(waiting, [[asked.id, asked.argumentsDigest]], 'the server is lost');

  const answer = { decision: 'approve', argumentsDigest: asked.argumentsDigest };
  const path = `/v1/sessions/${session.id}/approvals/${asked.id}`;
  const answers = await Promise.allSettled([post(path, answer), post(path, answer)]);
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 1);
  const ended = await session.ended();
  assert.deepEqual([ended.state, ended.attempt], ['completed', 2], ended.message ?? '');
  assert.deepEqual(
    ended.diff?.files.map((file) => file.path),
    ['asked'],
  );
  const { toolCalls } = await site.client.json(`/v1/sessions/${session.id}/tool-calls`, toolCallsSchema);
  const ran = toolCalls.filter(({ state }) => state === 'done');
  assert.deepEqual(
    ran.map(({ attempt, decidedBy }) => [attempt, decidedBy]),
    [[2, 'human']],
  );
  // The next attempt may ask before the answer comes: the same question is then told again, under its call's new id.
  const questions = session.events.flatMap(({ event }) =>
    event.type === 'approval' && event.state === 'waiting' ? [event.approvalId] : [],
  );
  assert.deepEqual([...new Set(questions)], [asked.id], 'the person is asked once');
  await assert.rejects(post(path, answer), { code: 'session_ended' });
  assert.equal((await verifySessionChain(site.client, session.id)).fault, null);
});
