import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sandboxToolNames, toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import type { SandboxToolName, ToolArguments } from '@lemniscate/shared/tools/catalogue.ts';
import { startToolBench } from '../../testing/tool-bench.ts';
import { tools } from './registry.ts';
import type { Tool } from './tool.ts';

/** Arguments that pass each tool's schema and name something that is not there, or runs for long. */
export type ToolExamples = {
  readonly [Name in SandboxToolName]: {
    readonly absent: ToolArguments<Name>;
    readonly valid: ToolArguments<Name>;
  };
};

/** What every tool of the registry has to do, whatever it is for. */
export function toolContract(examples: ToolExamples): void {
  for (const name of sandboxToolNames) {
    const example = examples[name];
    suite(`tool ${name}`, () => {
      test('its title is about its arguments and its examples fit the catalogue', () => {
        const tool = tools[name] as Tool<SandboxToolName>;
        assert.ok(toolCatalogue[name].schema.safeParse(example.valid).success);
        assert.ok(tool.title(example.valid).length > 0);
      });

      test('what is not there is an answer to the model, not a fault of ours', async (t) => {
        const bench = await startToolBench(t);
        const result = await bench.use(name, example.absent);
        assert.ok(result.text.length > 0);
      });

      test('after a stop it throws the signal’s reason and leaves the sandbox usable', async (t) => {
        const bench = await startToolBench(t);
        const stop = new AbortController();
        const why = new Error('stopped by the test');
        const running = bench.use(name, example.valid, { signal: stop.signal });
        stop.abort(why);
        await assert.rejects(running, (error) => error === why);
        assert.equal(await bench.bash('echo alive'), 'alive\n(Exit code 0.)');
      });

      test('a sandbox that is gone is a coded error', async (t) => {
        const bench = await startToolBench(t);
        await bench.sandbox.destroy();
        await assert.rejects(bench.use(name, example.valid), { code: 'sandbox_lost' });
      });
    });
  }
}
