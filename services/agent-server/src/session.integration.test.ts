import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBench } from './testing/agent-server-bench.ts';
import {
  callStates,
  eventsOf,
  outputOf,
  patchOf,
  play,
  resultOf,
  settled,
  toldResults,
} from './testing/session-script.ts';

test('a session reads, edits and runs, and its diff comes back', async (t) => {
  const bench = await startBench(t);
  await settled(bench);
  play(bench, [
    { blocks: [{ text: 'I look first.' }, { id: 'call_1', tool: 'read_file', input: { path: 'sum.sh' } }] },
    {
      blocks: [
        {
          id: 'call_2',
          tool: 'edit_file',
          input: { path: 'sum.sh', old_text: '$1 - $2', new_text: '$1 + $2' },
        },
        { id: 'call_3', tool: 'run_command', input: { command: './sum.sh 2 3; echo é >&2' } },
      ],
    },
    { blocks: [{ text: 'Mended: it adds now.' }] },
  ]);
  const order = bench.order();
  assert.equal((await bench.put(order)).status, 202);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.equal(result.message, 'Mended: it adds now.');
  assert.match(patchOf(result), /-echo \$\(\(\$1 - \$2\)\)\n\+echo \$\(\(\$1 \+ \$2\)\)/);
  assert.deepEqual(
    result.diff?.files.map((file) => file.path),
    ['sum.sh'],
  );

  const events = eventsOf(bench, order.sessionId);
  const running = events.find((event) => event.type === 'running');
  assert.equal(running?.warm, true);
  for (const id of ['call_1', 'call_2', 'call_3']) {
    assert.deepEqual(callStates(events, id), ['generating', 'generated', 'calling', 'done']);
  }
  assert.equal(outputOf(events, 'stdout'), '5\n');
  assert.equal(outputOf(events, 'stderr'), 'é\n');
  assert.deepEqual(
    toldResults(bench, 2).map(({ id }) => id),
    ['call_2', 'call_3'],
  );
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('without a warm sandbox the start is cold, and works', async (t) => {
  const bench = await startBench(t, { warm: 0 });
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  const running = eventsOf(bench, order.sessionId).find((event) => event.type === 'running');
  assert.equal(running?.warm, false);
  assert.deepEqual(result.diff?.files, []);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('malformed, wrong and doubled arguments become errors to the model and run nothing', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    {
      blocks: [
        { id: 'a', tool: 'run_command', rawArguments: '{"command": "touch ran' },
        { id: 'b', tool: 'run_command', rawArguments: '{"command": "touch ran", "sudo": true}' },
        { id: 'c', tool: 'run_command', rawArguments: '{"command": "true", "command": "touch ran"}' },
        { id: 'd', tool: 'no_such_tool', input: {} },
        { id: 'e', tool: 'list_files', rawArguments: '' },
      ],
    },
    { blocks: [{ text: 'I see.' }] },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.deepEqual(result.diff?.files, []);
  const events = eventsOf(bench, order.sessionId);
  for (const id of ['a', 'b', 'c', 'd']) assert.deepEqual(callStates(events, id), ['generating', 'errored']);
  assert.deepEqual(callStates(events, 'e'), ['generating', 'generated', 'calling', 'done']);
  assert.deepEqual(
    bench.dispatcher.permits.map(({ callId }) => callId),
    ['e'],
  );
  const told = toldResults(bench, 1);
  assert.deepEqual(
    told.map(({ id, isError }) => [id, isError]),
    [
      ['a', true],
      ['b', true],
      ['c', true],
      ['d', true],
      ['e', false],
    ],
  );
  assert.match(told[0]?.text ?? '', /not valid JSON/);
  assert.match(told[1]?.text ?? '', /sudo/);
  assert.match(told[2]?.text ?? '', /"command" twice/);
  assert.match(told[4]?.text ?? '', /sum\.sh/);
});

test('a tool that the policy forbids is told to the model; a rejection ends the loop and cancels the rest', async (t) => {
  const bench = await startBench(t);
  bench.dispatcher.onPermit = ({ callId }) => {
    if (callId === 'no')
      return {
        verdict: 'forbidden',
        decidedBy: 'automation',
        state: 'canceled',
        message: 'Not here.',
        reasons: [],
      };
    return {
      verdict: 'rejected',
      decidedBy: 'human',
      message: 'Not that.',
      endsLoop: true,
      reason: 'tool_rejected',
    };
  };
  play(bench, [
    { blocks: [{ id: 'no', tool: 'write_file', input: { path: 'x', content: 'x' } }] },
    {
      blocks: [
        { id: 'rejected', tool: 'write_file', input: { path: 'y', content: 'y' } },
        { id: 'after', tool: 'write_file', input: { path: 'z', content: 'z' } },
      ],
    },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'tool_rejected');
  assert.equal(result.message, 'Not that.');
  assert.deepEqual(result.diff?.files, []);
  assert.deepEqual(toldResults(bench, 1), [{ id: 'no', isError: true, text: 'Not here.' }]);
  const events = eventsOf(bench, order.sessionId);
  assert.deepEqual(callStates(events, 'no'), ['generating', 'generated', 'canceled']);
  assert.deepEqual(callStates(events, 'rejected'), ['generating', 'generated', 'canceled']);
  assert.deepEqual(callStates(events, 'after'), ['generating', 'canceled']);
});

test('a call waits for a person as long as it takes', async (t) => {
  const bench = await startBench(t);
  let asked = 0;
  bench.dispatcher.onPermit = () => {
    asked += 1;
    return asked < 4
      ? { verdict: 'waiting', approvalId: 'apr_1' }
      : { verdict: 'go', decidedBy: 'human', reasons: [] };
  };
  play(bench, [
    { blocks: [{ id: 'w', tool: 'run_command', input: { command: 'echo allowed' } }] },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order();
  await bench.put(order);
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  const events = eventsOf(bench, order.sessionId);
  const phases = events.flatMap((event) => (event.type === 'phase' ? [event.phase] : []));
  assert.deepEqual(
    phases.filter((phase) => phase !== 'booting' && phase !== 'preparing'),
    ['waiting', 'working', 'finishing'],
  );
  const calling = events.find((event) => event.type === 'tool_call' && event.state === 'calling');
  assert.equal(calling?.type === 'tool_call' && calling.decidedBy, 'human');
});

test('a repository that is not there ends the session and says which', async (t) => {
  const bench = await startBench(t);
  const order = bench.order({ repository: { kind: 'path', path: '/no/such/-repository é' } });
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'repository_failed');
  assert.match(result.message, /\/no\/such\/-repository é/);
  assert.equal(result.diff, null);
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});

test('a command that breaks the memory bound ends the session cleanly', async (t) => {
  const bench = await startBench(t);
  play(bench, [
    {
      blocks: [
        {
          id: 'hog',
          tool: 'run_command',
          input: { command: 'tail /dev/zero' },
        },
      ],
    },
  ]);
  const order = bench.order();
  await bench.put(order);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'sandbox_memory');
  await settled(bench);
  assert.deepEqual(await bench.leftovers(), []);
});
