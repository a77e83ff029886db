import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBench } from '@lemniscate/agent-server/testing/agent-server-bench.ts';
import { patchOf, play, resultOf, settled } from '@lemniscate/agent-server/testing/session-script.ts';
import { createFirstDispatcher, firstOrder, firstStop } from './first-dispatcher.ts';

/** A server of this version below a dispatcher of the first protocol. */
async function start(t: Parameters<typeof startBench>[0]) {
  const bench = await startBench(t);
  const take = createFirstDispatcher();
  const refused: string[] = [];
  bench.dispatcher.instead = (what, sender, body) => {
    try {
      return take(what, sender, body);
    } catch (error) {
      refused.push(`${what}: ${String(error)}`);
      throw error;
    }
  };
  const { repository } = bench.order();
  const path = repository.kind === 'path' ? repository.path : assert.fail('the bench has a folder');
  await settled(bench);
  return {
    bench,
    refused,
    put: async (sessionId: string) =>
      (await bench.send(bench.server.port, 'PUT', `/sessions/${sessionId}`, firstOrder(sessionId, path)))
        .status,
  };
}

test('a session of a dispatcher of the first protocol is finished by a server of this version', async (t) => {
  const { bench, refused, put } = await start(t);
  play(bench, [
    { blocks: [{ text: 'I look first.' }, { id: 'call_1', tool: 'read_file', input: { path: 'sum.sh' } }] },
    {
      blocks: [
        {
          id: 'call_2',
          tool: 'edit_file',
          input: { path: 'sum.sh', old_text: '$1 - $2', new_text: '$1 + $2' },
        },
        { id: 'call_3', tool: 'run_command', input: { command: './sum.sh 2 3' } },
      ],
    },
    { blocks: [{ text: 'Mended: it adds now.' }] },
  ]);
  assert.equal(await put('first-1'), 202);
  const result = await resultOf(bench, 'first-1');
  assert.deepEqual([result.reason, result.message], ['finished', 'Mended: it adds now.']);
  assert.match(patchOf(result), /\+echo \$\(\(\$1 \+ \$2\)\)/);
  await settled(bench);
  assert.deepEqual(refused, [], 'the old dispatcher could read every message');
  assert.deepEqual(await bench.leftovers(), []);
});

test('a stop as the first protocol sends it ends the session', async (t) => {
  const { bench, refused, put } = await start(t);
  play(bench, [{ blocks: [{ id: 'call_1', tool: 'run_command', input: { command: 'sleep 60' } }] }]);
  assert.equal(await put('first-2'), 202);
  await bench.dispatcher.until(() => bench.dispatcher.permits.length > 0);
  const stopped = await bench.send(
    bench.server.port,
    'POST',
    '/sessions/first-2/commands',
    firstStop('first-2'),
  );
  assert.ok(stopped.status < 300, `it answered ${stopped.status}`);
  await settled(bench);
  assert.deepEqual(refused, []);
});
