import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { startBench } from './testing/agent-server-bench.ts';
import {
  callStates,
  eventOf,
  eventsOf,
  outputOf,
  patchOf,
  play,
  resultOf,
  settled,
} from './testing/session-script.ts';

const hanging = {
  blocks: [{ id: 'hang', tool: 'run_command', input: { command: 'echo begun; touch seen; sleep 600' } }],
} as const;

test('a delete during a hanging command destroys everything and tells nothing', async (t) => {
  const bench = await startBench(t);
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  assert.equal(await bench.remove(order.sessionId, 1), 204);
  assert.equal(await bench.remove(order.sessionId, 1), 204);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
  assert.equal(bench.dispatcher.results.length, 0);
  assert.equal((await bench.put(order)).status, 409);
});

test('a stop whose reason offers the diff hands it over as it stands', async (t) => {
  const bench = await startBench(t);
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  const stop = { sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'time_budget' } as const;
  assert.equal(await bench.command({ ...stop, attempt: 2 }), 409);
  assert.equal(await bench.command({ ...stop, sessionId: 's_other' }), 404);
  assert.equal(await bench.command(stop), 202);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'time_budget');
  assert.match(patchOf(result), /new file mode 100644/);
  assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'hang'), [
    'generating',
    'generated',
    'calling',
    'canceled',
  ]);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a person’s stop discards the work', async (t) => {
  const bench = await startBench(t);
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  await bench.command({ sessionId: order.sessionId, attempt: 1, kind: 'stop', reason: 'stopped' });
  const result = await resultOf(bench, order.sessionId);
  assert.deepEqual([result.reason, result.diff, result.patch], ['stopped', null, null]);
});

test('an attempt that is no longer ours is torn down', async (t) => {
  const bench = await startBench(t);
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  bench.dispatcher.stale.add(`${order.sessionId}:1`);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
  assert.equal(bench.dispatcher.results.length, 0);
});

test('a later attempt replaces the earlier one, an earlier one is refused', async (t) => {
  const bench = await startBench(t, { capacity: 1 });
  play(bench, [hanging, { blocks: [{ text: 'Second.' }] }]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  assert.equal((await bench.put(order)).status, 202);
  const full = await bench.put(bench.order());
  assert.deepEqual([full.status, full.body['code']], [429, 'server_full']);
  assert.equal((await bench.put({ ...order, attempt: 3 })).status, 202);
  const refused = await bench.put({ ...order, attempt: 2 });
  assert.deepEqual([refused.status, refused.body['code']], [409, 'attempt_stale']);
  const result = await resultOf(bench, order.sessionId, 3);
  assert.equal(result.message, 'Second.');
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
  assert.equal((await bench.put({ ...order, attempt: 3 })).status, 409);
});

test('the dispatcher goes away in the middle: nothing is lost, nothing comes twice', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    {
      blocks: [
        {
          id: 'count',
          tool: 'run_command',
          input: { command: 'for i in $(seq 1 300); do echo line $i; sleep 0.01; done' },
        },
      ],
    },
    { blocks: [{ id: 'more', tool: 'run_command', input: { command: 'echo and more' } }] },
    { blocks: [{ text: 'Counted.' }] },
  ]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output', (event) => event.text.includes('line 20\n'));
  await bench.dispatcher.goAway();
  await bench.dispatcher.missed(3);
  await bench.dispatcher.comeBack();
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  const expected = `${Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join('')}and more\n`;
  assert.equal(outputOf(eventsOf(bench, order.sessionId), 'stdout'), expected);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a model stream that is cut is asked for again, and its half-written request is void', async (t) => {
  const bench = await startBench(t);
  const whole = {
    blocks: [{ text: 'Now.' }, { id: 'same', tool: 'run_command', input: { command: 'echo once' } }],
  };
  play(bench, [
    { ...whole, cutAfter: 7 },
    { blocks: [], refuse: { status: 529, body: { error: { type: 'overloaded_error', message: 'busy' } } } },
    whole,
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  const events = eventsOf(bench, order.sessionId);
  assert.deepEqual(callStates(events, 'same'), ['generating', 'canceled']);
  assert.deepEqual(callStates(events, 'same.2'), ['generating', 'generated', 'calling', 'done']);
  assert.equal(outputOf(events, 'stdout'), 'once\n');
  assert.equal(events.filter((event) => event.type === 'notice').length, 2);
});

test('a model that refuses for good ends the session with what it said', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    {
      blocks: [],
      refuse: { status: 401, body: { error: { type: 'authentication_error', message: 'wrong key' } } },
    },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'model_failed');
  assert.match(result.message, /401.*wrong key/);
  play(bench, [
    {
      blocks: [],
      refuse: {
        status: 402,
        body: { error: { type: 'budget', message: 'The tokens are used up (budget_tokens)' } },
      },
    },
  ]);
  const second = bench.order();
  await bench.put(second);
  assert.equal((await resultOf(bench, second.sessionId)).reason, 'budget_tokens');
});

test('a request that is cut at the output limit runs nothing', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    {
      blocks: [{ id: 'cut', tool: 'run_command', rawArguments: '{"command": "touch ran"}' }],
      stopReason: 'max_tokens',
    },
    { blocks: [{ text: 'Half a sen' }], stopReason: 'max_tokens' },
    { blocks: [{ text: 'tence.' }] },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.deepEqual(result.diff?.files, []);
  assert.deepEqual(callStates(eventsOf(bench, order.sessionId), 'cut'), ['generating', 'errored']);
});

test('a start that takes too long ends as start_failed', async (t) => {
  const bench = await startBench(t, { warm: 0 });
  const order = bench.order({ startWithinMs: 5 });
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'start_failed');
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a stop of the server gives its sessions up and leaves nothing', async (t) => {
  const bench = await startBench(t);
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  await bench.server.stop();
  assert.deepEqual(await bench.leftovers(), []);
  const last = bench.dispatcher.heartbeats.at(-1);
  assert.deepEqual([last?.draining, last?.held], [true, []]);
});

test('a sandbox that dies ends its session, whose work so far is offered', async (t) => {
  const bench = await startBench(t, { warm: 0 });
  play(bench, [hanging]);
  const order = bench.order();
  await bench.put(order);
  await eventOf(bench, order.sessionId, 'output');
  process.kill(onlyProcess(bench.config.stateFolder), 'SIGKILL');
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'runtime_failed');
  assert.match(result.message, /sandbox/);
  assert.deepEqual(
    result.diff?.files.map((file) => file.path),
    ['seen'],
  );
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

/** The process of the one sandbox that lives, from the mark that the driver keeps of it. */
function onlyProcess(stateFolder: string): number {
  const marks = readdirSync(stateFolder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => basename(path) === 'process',
  );
  assert.equal(marks.length, 1);
  return Number(readFileSync(join(stateFolder, marks[0] ?? ''), 'utf8').split(' ')[0]);
}
