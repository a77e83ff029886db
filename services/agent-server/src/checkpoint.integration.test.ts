import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { startBench } from './testing/agent-server-bench.ts';
import type { Bench } from './testing/agent-server-bench.ts';
import {
  callStates,
  eventOf,
  eventsOf,
  patchOf,
  play,
  resultOf,
  resumed,
  settled,
  toldResults,
} from './testing/session-script.ts';

const run = (id: string, command: string) => ({ id, tool: 'run_command', input: { command } });
const done = { blocks: [{ text: 'Done.' }] };
const go: PermitAnswer = { verdict: 'go', decidedBy: 'human', reasons: [] };

/** The permit of this call waits for a person until somebody says otherwise. */
function hold(bench: Bench, callId: string): { let(answer: PermitAnswer): void } {
  let answer: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };
  bench.dispatcher.onPermit = (request) => (request.callId === callId ? answer : go);
  return { let: (given) => (answer = given) };
}

test('a session that waits for a decision is put away and goes on with it, in the middle of its turn', async (t) => {
  const bench = await startBench(t);
  const approval = hold(bench, 'second');
  play(bench, [
    {
      blocks: [
        run('first', 'echo kept > made; echo dot > ~/.config-of-mine'),
        run('second', 'cat made ~/.config-of-mine'),
        run('third', 'rm made; echo x > other'),
      ],
    },
    done,
  ]);
  const order = bench.order();
  await bench.put(order);
  await bench.dispatcher.until(() => bench.dispatcher.permits.some(({ callId }) => callId === 'second'));
  bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
  await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
  bench.dispatcher.pauses.clear();
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), [], 'nothing of a paused session is left on its server');
  assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'second'), ['generating', 'generated']);

  approval.let(go);
  await bench.put(resumed(bench, order));
  const result = await resultOf(bench, order.sessionId, 2);
  assert.equal(result.reason, 'finished');
  const events = eventsOf(bench, order.sessionId, 2);
  assert.deepEqual(callStates(events, 'second'), ['calling', 'done']);
  assert.deepEqual(callStates(events, 'third'), ['generated', 'calling', 'done']);
  assert.equal(
    bench.dispatcher.modelRequests.length,
    2,
    'the model was not asked again for what it had said',
  );
  assert.deepEqual(
    toldResults(bench, 1).map(({ id, text }) => [id, text.split('\n').slice(0, 2)]),
    [
      ['first', ['(Exit code 0.)']],
      ['second', ['kept', 'dot']],
      ['third', ['(Exit code 0.)']],
    ],
  );
  assert.deepEqual(
    result.diff?.files.map(({ path }) => path),
    ['other'],
  );
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('what it waited for has come meanwhile: it goes on where it is', async (t) => {
  const bench = await startBench(t);
  const approval = hold(bench, 'asked');
  bench.dispatcher.onCheckpoint = () => {
    bench.dispatcher.pauses.clear();
    approval.let(go);
    return { outcome: 'stay', number: 1 };
  };
  play(bench, [{ blocks: [run('asked', 'echo yes > made')] }, done]);
  const order = bench.order();
  await bench.put(order);
  await bench.dispatcher.until(() => bench.dispatcher.permits.length > 0);
  bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.match(patchOf(result), /\+yes/);
  assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'asked'), [
    'generating',
    'generated',
    'calling',
    'done',
  ]);
});

test('a word to pause that comes too late does not disturb the command that it waited for', async (t) => {
  const bench = await startBench(t);
  play(bench, [{ blocks: [run('long', 'echo begun; sleep 3; echo whole > made')] }, done]);
  bench.dispatcher.onCheckpoint = () => ({ outcome: 'stay', number: 1 });
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  await bench.command({ ...order, kind: 'pause', reason: 'awaiting_approval' });
  const result = await resultOf(bench, order.sessionId);
  assert.match(patchOf(result), /\+whole/);
  assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'long').at(-1), 'done');
});

test('a person pauses in the middle of a command: it is stopped, the model is told, the rest waits', async (t) => {
  const bench = await startBench(t);
  play(bench, [{ blocks: [run('hang', 'echo begun; sleep 600'), run('next', 'echo n > made')] }, done]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  await bench.command({ ...order, kind: 'pause', reason: 'by_person' });
  await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
  await settled(bench);
  assert.equal(callStates(eventsOf(bench, order.sessionId), 'hang').at(-1), 'canceled');
  assert.equal(callStates(eventsOf(bench, order.sessionId), 'next').at(-1), 'generating');
  await bench.put(resumed(bench, order));
  assert.equal((await resultOf(bench, order.sessionId, 2)).reason, 'finished');
  const [told] = toldResults(bench, 1);
  assert.deepEqual([told?.id, told?.isError], ['hang', true]);
  assert.match(told?.text ?? '', /because the session was paused/);
});

test('an object store that fails costs a pause a notice, not the session', async (t) => {
  const bench = await startBench(t);
  const approval = hold(bench, 'asked');
  play(bench, [{ blocks: [run('asked', 'echo yes > made')] }, done]);
  const order = bench.order();
  await bench.put(order);
  await bench.dispatcher.until(() => bench.dispatcher.permits.length > 0);
  // Final, so that it is not tried for minutes.
  bench.dispatcher.onCheckpoint = () => {
    bench.dispatcher.pauses.clear();
    throw Object.assign(new Error('refused'), { code: 'x' });
  };
  bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
  const notice = await eventOf(bench, order.sessionId, 'notice');
  assert.match(notice.text, /could not be paused and goes on/);
  approval.let(go);
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
});

test('a damaged checkpoint is given back, and nothing of it is left', async (t) => {
  const bench = await startBench(t);
  hold(bench, 'asked');
  play(bench, [{ blocks: [run('asked', 'true')] }]);
  const order = bench.order();
  await bench.put(order);
  await bench.dispatcher.until(() => bench.dispatcher.permits.length > 0);
  bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
  await bench.dispatcher.until(() => bench.dispatcher.checkpoints.length === 1);
  bench.dispatcher.pauses.clear();
  await settled(bench);
  const next = resumed(bench, order);
  assert.ok(next.resume);
  const archive = { ...next.resume.archive, sha256: 'f'.repeat(64) };
  await bench.put({ ...next, resume: { ...next.resume, archive } });
  const given = await bench.dispatcher.until(() => bench.dispatcher.givenBack[0]);
  assert.deepEqual([given.attempt, given.why.reason], [2, 'start_failed']);
  assert.match(given.why.message, /other bytes than were stored/);
  await settled(bench);
  assert.equal(bench.dispatcher.results.length, 0);
  assert.deepEqual(await bench.leftovers(), []);
});

test('checkpoints at an interval are taken between turns, and leave a program in the background alone', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    { blocks: [run('one', 'echo one > made')] },
    { blocks: [run('two', 'sleep 600 >/dev/null 2>&1 & echo two')] },
    { blocks: [run('three', 'pgrep -c sleep')] },
    { blocks: [run('four', 'pkill sleep; echo four')] },
    done,
  ]);
  const order = bench.order({ checkpointEveryMs: 1 });
  await bench.put(order);
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  assert.match(toldResults(bench, 3)[0]?.text ?? '', /^1\n/, 'the program is still there');
  const taken = bench.dispatcher.checkpoints.map(({ given }) => given.cause);
  assert.ok(taken.length >= 2, `${taken.length} checkpoints`);
  assert.ok(taken.every((cause) => cause === 'interval'));
  const transcripts = bench.dispatcher.checkpoints.map(({ given }) => {
    const bytes = bench.dispatcher.uploads.get(given.transcript.uploadId);
    return JSON.parse(bytes?.toString('utf8') ?? 'null') as { turn: number };
  });
  assert.ok(!transcripts.some(({ turn }) => turn === 2 || turn === 3), 'none while the program ran');
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});
