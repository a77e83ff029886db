import { ask } from '@lemniscate/api/client.ts';
import type { RemoteToolView } from '@lemniscate/shared/api/remote-tool.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface ToolOptions {
  readonly look?: boolean;
  readonly approve?: string[];
  readonly json?: boolean;
}

/** `lemniscate agents tools`: tools of an agent's MCP servers, as their servers describe them, and their approval. */
export function registerAgentTools(agents: Command, io: CommandIo): void {
  agents
    .command('tools')
    .description(
      'Shows the tools of the agent’s MCP servers; with --look asks the servers, with --approve lets them in.',
    )
    .argument('<agent>')
    .option('--look', 'ask the servers what they have now')
    .option('--approve <names...>', 'let these in as they are shown, such as tracker/get_issue')
    .option('--json', 'as JSON')
    .action(async (agent: string, options: ToolOptions) => {
      const client = await connectFleet(io);
      const found =
        options.look === true
          ? await ask(
              client
                .patient(60_000)
                .POST('/v1/agents/{agent}/remote-tools/look', { params: { path: { agent } } }),
            )
          : await ask(client.api.GET('/v1/agents/{agent}/remote-tools', { params: { path: { agent } } }));
      const names = options.approve;
      const shown =
        names === undefined
          ? found
          : await ask(
              client.api.POST('/v1/agents/{agent}/remote-tools/approve', {
                params: { path: { agent } },
                body: { tools: names.map((name) => seenTool(found.tools, name)) },
              }),
            );
      if (options.json === true) return printJson(io, shown);
      for (const notice of found.notices ?? []) io.stderr.write(`${makeVisible(notice)}\n`);
      for (const tool of shown.tools)
        io.stdout.write(
          `${tool.name}  ${tool.state}\n  ${makeVisible(tool.description)}\n  ${makeVisible(JSON.stringify(tool.inputSchema))}\n`,
        );
      return undefined;
    });
}

function seenTool(tools: readonly RemoteToolView[], name: string) {
  const tool = tools.find((one) => one.name === name);
  if (tool !== undefined) return { name, digest: tool.digest };
  throw new CodedError(
    'not_found',
    `The agent’s servers have no tool ${name}. There are: ${tools.map((one) => one.name).join(', ') || 'none; try --look'}.`,
  );
}
