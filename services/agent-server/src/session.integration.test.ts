import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { startBench } from './testing/agent-server-bench.ts';
import type { Bench } from './testing/agent-server-bench.ts';
import type { ScriptedTurn } from './testing/scripted-model.ts';

/** Plays the turns in order. */
function play(bench: Bench, turns: readonly ScriptedTurn[]): void {
  let next = 0;
  bench.dispatcher.onModel = () => {
    const turn = turns[next];
    next += 1;
    if (turn === undefined) throw new Error('the model was asked more often than scripted');
    return turn;
  };
}

const resultOf = (bench: Bench, sessionId: string) =>
  bench.dispatcher.until(() => bench.dispatcher.results.find((entry) => entry.sessionId === sessionId)?.result);

const eventsOf = (bench: Bench, sessionId: string): ServerEvent[] =>
  bench.dispatcher.events.filter((entry) => entry.sessionId === sessionId).map((entry) => entry.event);

const callStates = (events: readonly ServerEvent[], callId: string): string[] =>
  events.flatMap((event) => (event.type === 'tool_call' && event.callId === callId ? [event.state] : []));

const patchOf = (result: { patch: { kind: string; base64?: string } | null }): string =>
  Buffer.from(result.patch?.base64 ?? '', 'base64').toString('utf8');

async function nothingLeft(bench: Bench): Promise<void> {
  await bench.dispatcher.until(() => bench.server.status().held.length === 0 && bench.server.status().warm === bench.config.warm);
  assert.deepEqual(await bench.leftovers(), []);
}

test('a session reads, edits and runs, and its diff comes back', async (t) => {
  const bench = await startBench(t);
  await bench.dispatcher.until(() => bench.server.status().warm === 1);
  play(bench, [
    { blocks: [{ text: 'I look first.' }, { id: 'call_1', tool: 'read_file', input: { path: 'sum.sh' } }] },
    {
      blocks: [
        { id: 'call_2', tool: 'edit_file', input: { path: 'sum.sh', old_text: '$1 - $2', new_text: '$1 + $2' } },
        { id: 'call_3', tool: 'run_command', input: { command: './sum.sh 2 3; echo é >&2' } },
      ],
    },
    { blocks: [{ text: 'Mended: it adds now.' }] },
  ]);
  const order = bench.order();
  const answer = await bench.put(order);
  assert.equal(answer.status, 202);
  const result = await resultOf(bench, order.sessionId);
  assert.equal(result.reason, 'finished');
  assert.equal(result.message, 'Mended: it adds now.');
  assert.match(patchOf(result), /-echo \$\(\(\$1 - \$2\)\)\n\+echo \$\(\(\$1 \+ \$2\)\)/);
  assert.deepEqual(result.diff?.files.map((file) => file.path), ['sum.sh']);

  const events = eventsOf(bench, order.sessionId);
  const running = events.find((event) => event.type === 'running');
  assert.equal(running?.warm, true);
  for (const id of ['call_1', 'call_2', 'call_3']) {
    assert.deepEqual(callStates(events, id), ['generating', 'generated', 'calling', 'done']);
  }
  const output = events.flatMap((event) => (event.type === 'output' ? [`${event.stream}:${event.text}`] : []));
  assert.deepEqual(output.sort(), ['stderr:é\n', 'stdout:5\n']);
  const lastRequest = bench.dispatcher.modelRequests.at(-1);
  const told = lastRequest?.messages.at(-1)?.content.map((block) => block['tool_use_id']);
  assert.deepEqual(told, ['call_2', 'call_3']);
  await nothingLeft(bench);
});
