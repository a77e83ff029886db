import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBench } from './testing/agent-server-bench.ts';
import { eventOf, outputOf, eventsOf, resultOf } from './testing/session-script.ts';

/** Small bounds, so that each is met within a second. */
const profiles = `profiles:
  default: { memory: 256MiB, processes: 64, cpu: 1, disk: 64MiB, files: 2000, tmp: 32MiB }
  brief: { memory: 256MiB, processes: 64, cpu: 1, cpuSeconds: 1, disk: 64MiB, files: 2000, tmp: 32MiB }
`;

const hogs = {
  sandbox_disk: 'head -c 300000000 /dev/zero > big',
  sandbox_memory: `perl -e 'my @a; push @a, "x" x 8_000_000 while 1'`,
  sandbox_processes: 'bomb() { bomb | bomb & }; bomb; sleep 10',
  sandbox_cpu: 'timeout 8 bash -c "while :; do :; done"',
} as const;

test('a session that breaks a bound ends with that reason, and the one beside it feels nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bounds-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const profilesFile = join(folder, 'profiles.yaml');
  writeFileSync(profilesFile, profiles);
  const bench = await startBench(t, { profilesFile });
  const calm = () =>
    bench.dispatcher.until(() => {
      const { held, warm } = bench.server.status();
      return held.length === 0 && warm === 2;
    });
  await calm();
  const command = (text: string) => ({ id: 'call', tool: 'run_command', input: { command: text } });
  bench.dispatcher.onModel = ({ messages }) => {
    const told = messages.some(({ content }) => content.some(({ type }) => type === 'tool_result'));
    if (told) return { blocks: [{ text: 'Done.' }] };
    return { blocks: [command(JSON.stringify(messages[0]).includes('NEIGHBOUR') ? quiet : hog)] };
  };
  const quiet =
    'echo begun; until [ -e /tmp/never ] || [ "$SECONDS" -ge 4 ]; do sleep 0.1; done; echo unharmed';
  let hog: string = '';
  for (const [reason, script] of Object.entries(hogs)) {
    hog = script;
    const neighbour = bench.order({ instruction: 'NEIGHBOUR' });
    await bench.put(neighbour);
    await eventOf(bench, neighbour.sessionId, 'output');
    const order = bench.order({ profile: reason === 'sandbox_cpu' ? 'brief' : 'default' });
    await bench.put(order);
    const result = await resultOf(bench, order.sessionId);
    assert.equal(result.reason, reason, result.message);
    assert.equal((await resultOf(bench, neighbour.sessionId)).reason, 'finished');
    assert.equal(outputOf(eventsOf(bench, neighbour.sessionId), 'stdout'), 'begun\nunharmed\n');
    await calm();
    assert.deepEqual(await bench.leftovers(), []);
  }
});
