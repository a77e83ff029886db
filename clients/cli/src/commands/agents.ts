import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { AgentView } from '@lemniscate/shared/api/agent.ts';
import { readFile } from 'node:fs/promises';
import { agentDefinitionSchema } from '@lemniscate/shared/api/agent.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { parse } from 'yaml';
import type { ApiClient } from '../api-client.ts';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { registerAgentTools } from './agent-tools.ts';
import { registerMemoryCarry } from './memory-carry.ts';
import { registerAgentCredentials } from './credentials.ts';

/** Reads a definition as it is written: YAML, and so JSON. @throws CodedError `request_invalid` */
async function readDefinition(file: string) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CodedError('request_invalid', `${file} cannot be read: ${error.code ?? error.message}.`);
  });
  const parsed = agentDefinitionSchema.safeParse(parse(text, { maxAliasCount: 10 }) ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError('request_invalid', `${file} is not the definition of an agent. ${faults.join('; ')}.`);
}

/** Creates the agent, or changes the version that there is. */
async function defineAgent(client: ApiClient, id: string, file: string, project: string) {
  const definition = await readDefinition(file);
  const known = await ask(client.api.GET('/v1/agents'));
  const current = known.agents.find((agent) => agent.id === id);
  if (current === undefined) return ask(client.api.POST('/v1/agents', { body: { id, project, definition } }));
  const params = { path: { agent: id }, header: seenHeader(current) };
  return ask(client.api.PUT('/v1/agents/{agent}', { params, body: definition }));
}

/** `lemniscate agents`: the actors that sessions run as. */
export function registerAgents(program: Command, io: CommandIo): void {
  const agents = program.command('agents').description('Defines and lists the agents that sessions run as.');
  agents
    .command('list')
    .description('Lists the agents.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const found = await ask((await connectFleet(io)).api.GET('/v1/agents'));
      if (options.json === true) return printJson(io, found.agents);
      return writeTable(
        io.stdout,
        found.agents.map(({ id, version, project, definition }) => [
          id,
          `version ${version}`,
          project === '*' ? 'every project' : project,
          `memory ${definition.memory}`,
          definition.disabled ? 'disabled' : '',
        ]),
      );
    });
  agents
    .command('show')
    .description('Shows what an agent is.')
    .argument('<agent>')
    .option('--version <number>', 'as it was')
    .action(async (id: string, options: { version?: string }) => {
      const { api } = await connectFleet(io);
      const view =
        options.version === undefined
          ? api.GET('/v1/agents/{agent}', { params: { path: { agent: id } } })
          : api.GET('/v1/agents/{agent}/versions/{version}', {
              params: { path: { agent: id, version: Number(options.version) } },
            });
      printJson(io, await ask<AgentView>(view));
    });
  agents
    .command('versions')
    .description('Lists who changed an agent when.')
    .argument('<agent>')
    .action(async (id: string) => {
      const found = await ask(
        (await connectFleet(io)).api.GET('/v1/agents/{agent}/versions', { params: { path: { agent: id } } }),
      );
      writeTable(
        io.stdout,
        found.versions.map(({ version, changedBy, changedAt }) => [String(version), changedAt, changedBy]),
      );
    });
  agents
    .command('define')
    .description('Creates an agent, or makes a new version of it, out of a YAML file.')
    .argument('<agent>')
    .argument('<file>', 'systemPrompt, tools, mcpServers, memory, model, runtime, skills, credentials')
    .option('--project <id>', 'where a new agent works; without it everywhere', '*')
    .action(async (id: string, file: string, options: { project: string }) => {
      const view = await defineAgent(await connectFleet(io), id, file, options.project);
      io.stdout.write(`${view.id} is at version ${view.version}.\n`);
    });
  registerAgentCredentials(agents, io);
  registerAgentTools(agents, io);
}

interface MemoryOptions {
  readonly project: string;
  readonly json?: boolean;
}

/** `lemniscate memory`: what an agent remembers of a project. */
export function registerMemory(program: Command, io: CommandIo): void {
  const memory = program
    .command('memory')
    .description('Shows, reviews and restores what an agent remembers.');
  const withProject = (command: Command): Command => command.option('--project <id>', 'the project', 'local');
  withProject(
    memory.command('show').description('Shows what an agent remembers of a project.').argument('<agent>'),
  )
    .option('--json', 'as JSON')
    .action(async (agent: string, options: MemoryOptions) => {
      const view = await ask(
        (await connectFleet(io)).api.GET('/v1/projects/{id}/agents/{agent}/memory', {
          params: { path: { id: options.project, agent } },
        }),
      );
      if (options.json === true) return printJson(io, view);
      io.stdout.write(`version ${view.version}\n`);
      return writeTable(
        io.stdout,
        view.files.map(({ path, bytes, session, at }) => [path, `${bytes} bytes`, session ?? 'a person', at]),
      );
    });
  withProject(
    memory
      .command('restore')
      .description('Makes an earlier version of the memory the newest.')
      .argument('<agent>')
      .argument('<version>'),
  ).action(async (agent: string, version: string, options: MemoryOptions) => {
    const client = await connectFleet(io);
    const current = await ask(
      client.api.GET('/v1/projects/{id}/agents/{agent}/memory', {
        params: { path: { id: options.project, agent } },
      }),
    );
    const restored = await ask(
      client.api.POST('/v1/projects/{id}/agents/{agent}/memory/restore', {
        params: { path: { id: options.project, agent }, header: seenHeader(current) },
        body: { version: Number(version) },
      }),
    );
    io.stdout.write(`Version ${restored.version} is as version ${version} was.\n`);
  });
  withProject(memory.command('review').argument('<agent>'))
    .description('Lists what sessions want remembered; with --accept or --reject decides it.')
    .option('--accept <session>', 'takes what this session wants remembered')
    .option('--reject <session>', 'leaves it out')
    .action(async (agent: string, options: MemoryOptions & { accept?: string; reject?: string }) => {
      const client = await connectFleet(io);
      const session = options.accept ?? options.reject;
      if (session === undefined) {
        const { proposals } = await ask(
          client.api.GET('/v1/projects/{id}/agents/{agent}/memory/proposals', {
            params: { path: { id: options.project, agent } },
          }),
        );
        for (const proposal of proposals)
          io.stdout.write(
            `${proposal.session}  ${proposal.files.map((file) => makeVisible(file.path)).join(', ')}\n`,
          );
        return;
      }
      const decided = await ask(
        client.api.POST('/v1/projects/{id}/agents/{agent}/memory/proposals/{session}', {
          params: { path: { id: options.project, agent, session } },
          body: { decision: options.accept === undefined ? 'reject' : 'accept' },
        }),
      );
      for (const notice of decided.notices) io.stdout.write(`${makeVisible(notice)}\n`);
      io.stdout.write(`The memory is at version ${decided.version}.\n`);
    });
  registerMemoryCarry(memory, io);
}

/** `lemniscate files`: what a session's agent wrote for people. */
export function registerFiles(program: Command, io: CommandIo): void {
  program
    .command('files')
    .description('Lists the files that a session’s agent wrote; with a path prints one.')
    .argument('<session>')
    .argument('[path]')
    .action(async (session: string, path: string | undefined) => {
      const client = await connectFleet(io);
      const base = `/v1/sessions/${encodeURIComponent(session)}/files`;
      if (path === undefined) {
        const { files } = await ask(
          client.api.GET('/v1/sessions/{id}/files', { params: { path: { id: session } } }),
        );
        return writeTable(
          io.stdout,
          files.map((file) => [file.path, `${file.bytes} bytes`, file.type]),
        );
      }
      const answer = await client.open(`${base}/content?path=${encodeURIComponent(path)}`, {
        timeoutMs: 600_000,
      });
      for await (const piece of answer.body ?? []) io.stdout.write(piece);
      return undefined;
    });
}
