import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createNewId } from '@lemniscate/shared/id.ts';
import type { ToolArguments, SandboxToolName } from '@lemniscate/shared/tools/catalogue.ts';
import { sandboxDrivers } from '../adapters/sandbox/registry.ts';
import type { Sandbox } from '../application/ports/sandbox-driver.ts';
import { readProfiles } from '../application/sandbox-profiles.ts';
import { tools } from '../application/tools/registry.ts';
import type { Tool, ToolContext, ToolResult } from '../application/tools/tool.ts';

/** A real sandbox with an empty workspace, and the tools to use in it. */
export interface ToolBench {
  readonly sandbox: Sandbox;
  /** Live output in the order it came. */
  readonly output: string[];
  use<Name extends SandboxToolName>(
    name: Name,
    input: ToolArguments<Name>,
    change?: Partial<ToolContext>,
  ): Promise<ToolResult>;
  /** Runs bash in the sandbox and gives its output. */
  bash(command: string): Promise<string>;
}

export async function startToolBench(t: TestContext): Promise<ToolBench> {
  const stateFolder = mkdtempSync(join(tmpdir(), 'lemniscate-tools-'));
  chmodSync(stateFolder, 0o711);
  const driver = sandboxDrivers.bubblewrap({ stateFolder, serverId: `tools-${process.pid}` });
  const profile = readProfiles(undefined)[0];
  if (profile === undefined) throw new Error('there is no sandbox profile');
  const sandbox = await driver.boot(createNewId()('sandbox'), profile);
  t.after(async () => {
    await sandbox.destroy();
    rmSync(stateFolder, { recursive: true, force: true });
  });
  const output: string[] = [];
  const base: ToolContext = {
    sandbox,
    signal: new AbortController().signal,
    commandMaxSeconds: 60,
    commandMaxOutputBytes: 10 * 1024 * 1024,
    output: async (stream, text) => void output.push(`${stream}:${text}`),
  };
  const use: ToolBench['use'] = (name, input, change = {}) =>
    (tools[name] as Tool<typeof name>).run(input, { ...base, ...change });
  return {
    sandbox,
    output,
    use,
    bash: async (command) => (await use('run_command', { command })).text,
  };
}
