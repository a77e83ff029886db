import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import { startBench } from '../../../testing/agent-server-bench.ts';
import { patchOf, play } from '../../../testing/session-script.ts';

/** Every file that some shell of a program reads before the command that was judged, or after it. */
const profiles = '.bash_profile .bash_login .profile .bashrc .bash_logout .zshenv .zprofile .zshrc .inputrc';
const plant = `for f in ${profiles}; do echo 'echo read >> /workspace/read-profile' > "$HOME/$f"; done`;

for (const runtime of ['claude-code', 'codex'] as const)
  test(`${runtime}: a command runs what was judged and no profile that an earlier one has left`, async (t) => {
    const bench = await startBench(t);
    const run = (id: string, command: string) => ({ id, tool: 'run_command', input: { command } });
    const turns: ScriptedTurn[] = [
      { blocks: [run('plant', plant)] },
      { blocks: [run('harmless', 'ls')] },
      // a login shell that was judged reads none either; what reads one by name shows that they are there and would be seen
      { blocks: [run('login', "bash -lc 'true'; . ~/.profile")] },
      { blocks: [run('more', 'ls -a')] },
      { blocks: [{ text: 'Done.' }] },
    ];
    play(bench, turns);
    await bench.put(bench.order({ runtime, cliTools: 'own' }));
    const result = await bench.dispatcher.until(() => bench.dispatcher.results[0]?.result, 120_000);
    assert.deepEqual([result.reason, result.message], ['finished', 'Done.']);
    assert.equal(bench.dispatcher.permits.length, 4);
    const read = patchOf(result).match(/^\+read$/gm) ?? [];
    assert.equal(read.length, 1, 'once, by the command that names it');
  });
