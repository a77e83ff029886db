import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBench } from '../../../testing/agent-server-bench.ts';
import { play, resultOf, settled } from '../../../testing/session-script.ts';

const run = (id: string, command: string) => ({ id, tool: 'run_command', input: { command } });

for (const runtime of ['claude-code', 'codex'] as const)
  for (const cliTools of ['own', 'hosted'] as const)
    test(`${runtime}, ${cliTools}: it is told of its skills, reads one and its memory, and what it remembers comes back`, async (t) => {
      const bench = await startBench(t);
      const { store } = bench.dispatcher;
      const skill = { path: 'SKILL.md', ...store.publish('Sign with the word Heron.') };
      const note = { path: 'note.md', ...store.publish('remember the milk') };
      const order = bench.order({
        runtime,
        cliTools,
        systemPrompt: 'You mend programs.\n- signing (/home/agent/skills/signing/SKILL.md): Signs.',
        attachments: [
          { folder: 'skills/signing', files: [skill] },
          { folder: 'memory', files: [note] },
        ],
        collect: ['memory', 'files'],
      });
      play(bench, [
        { blocks: [run('read', 'cat /home/agent/skills/signing/SKILL.md /home/agent/memory/note.md')] },
        { blocks: [run('keep', 'echo Heron > /home/agent/memory/added.md')] },
        { blocks: [{ text: 'Done.' }] },
      ]);
      await bench.put(order);
      const result = await resultOf(bench, order.sessionId, 1, 60_000);
      assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
      const told = bench.dispatcher.modelRequests
        .filter(({ tools }) => (tools ?? []).length > 0)
        .map((request) => JSON.stringify(request));
      assert.match(told[0] ?? '', /You mend programs[^]*skills\/signing\/SKILL\.md/);
      assert.doesNotMatch(told[0] ?? '', /Heron/, 'only where it is; the rest is read when it is wanted');
      assert.match(told[1] ?? '', /Sign with the word Heron\.[^]*remember the milk/);
      assert.deepEqual(result.collected?.memory?.map(({ path }) => path).toSorted(), ['added.md', 'note.md']);
      // Its own session files lie beside them and are nobody's memory.
      assert.deepEqual(result.collected?.files ?? [], []);
      assert.deepEqual([...bench.dispatcher.uploads.values()].map(String), ['Heron\n']);
      await settled(bench);
    });
