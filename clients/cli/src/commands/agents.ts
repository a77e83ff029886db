import { readFile } from 'node:fs/promises';
import {
  agentDefinitionSchema,
  agentListSchema,
  agentVersionsSchema,
  agentViewSchema,
} from '@lemniscate/shared/api/agent.ts';
import {
  memoryProposalsSchema,
  memoryViewSchema,
  decidedProposalSchema,
  sessionFilesSchema,
} from '@lemniscate/shared/api/memory.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { parse } from 'yaml';
import type { ApiClient } from '../api-client.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { registerAgentTools } from './agent-tools.ts';
import { registerMemoryCarry } from './memory-carry.ts';
import { registerAgentCredentials } from './credentials.ts';

const agentPath = (id: string): string => `/v1/agents/${encodeURIComponent(id)}`;

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
  const known = await client.json('/v1/agents', agentListSchema);
  const current = known.agents.find((agent) => agent.id === id);
  if (current === undefined)
    return client.json('/v1/agents', agentViewSchema, { method: 'POST', body: { id, project, definition } });
  const headers = { 'if-match': `"${current.version}"` };
  return client.json(agentPath(id), agentViewSchema, { method: 'PUT', body: definition, headers });
}

/** `lemniscate agents`: the actors that sessions run as. */
export function registerAgents(program: Command, io: CommandIo): void {
  const agents = program.command('agents').description('Defines and lists the agents that sessions run as.');
  agents
    .command('list')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const found = await (await connectFleet(io)).json('/v1/agents', agentListSchema);
      if (options.json === true) return printJson(io, found.agents);
      for (const { id, version, project, definition } of found.agents)
        io.stdout.write(
          `${id}  version ${version}  ${project === '*' ? 'every project' : project}  memory ${definition.memory}${definition.disabled ? '  disabled' : ''}\n`,
        );
      return undefined;
    });
  agents
    .command('show')
    .argument('<agent>')
    .option('--version <number>', 'as it was')
    .action(async (id: string, options: { version?: string }) => {
      const version = options.version === undefined ? '' : `/versions/${encodeURIComponent(options.version)}`;
      printJson(io, await (await connectFleet(io)).json(`${agentPath(id)}${version}`, agentViewSchema));
    });
  agents
    .command('versions')
    .argument('<agent>')
    .action(async (id: string) => {
      const found = await (await connectFleet(io)).json(`${agentPath(id)}/versions`, agentVersionsSchema);
      for (const { version, changedBy, changedAt } of found.versions)
        io.stdout.write(`${version}  ${changedAt}  ${makeVisible(changedBy)}\n`);
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
  const path = (agent: string, { project }: MemoryOptions): string =>
    `/v1/projects/${encodeURIComponent(project)}/agents/${encodeURIComponent(agent)}/memory`;
  const withProject = (command: Command): Command => command.option('--project <id>', 'the project', 'local');
  withProject(memory.command('show').argument('<agent>'))
    .option('--json', 'as JSON')
    .action(async (agent: string, options: MemoryOptions) => {
      const view = await (await connectFleet(io)).json(path(agent, options), memoryViewSchema);
      if (options.json === true) return printJson(io, view);
      io.stdout.write(`version ${view.version}\n`);
      for (const file of view.files)
        io.stdout.write(
          `${makeVisible(file.path)}  ${file.bytes} bytes  ${file.session ?? 'a person'}  ${file.at}\n`,
        );
      return undefined;
    });
  withProject(memory.command('restore').argument('<agent>').argument('<version>')).action(
    async (agent: string, version: string, options: MemoryOptions) => {
      const client = await connectFleet(io);
      const current = await client.json(path(agent, options), memoryViewSchema);
      const restored = await client.json(`${path(agent, options)}/restore`, memoryViewSchema, {
        method: 'POST',
        body: { version: Number(version) },
        headers: { 'if-match': `"${current.version}"` },
      });
      io.stdout.write(`Version ${restored.version} is as version ${version} was.\n`);
    },
  );
  withProject(memory.command('review').argument('<agent>'))
    .description('Lists what sessions want remembered; with --accept or --reject decides it.')
    .option('--accept <session>')
    .option('--reject <session>')
    .action(async (agent: string, options: MemoryOptions & { accept?: string; reject?: string }) => {
      const client = await connectFleet(io);
      const session = options.accept ?? options.reject;
      if (session === undefined) {
        const { proposals } = await client.json(`${path(agent, options)}/proposals`, memoryProposalsSchema);
        for (const proposal of proposals)
          io.stdout.write(
            `${proposal.session}  ${proposal.files.map((file) => makeVisible(file.path)).join(', ')}\n`,
          );
        return;
      }
      const decided = await client.json(
        `${path(agent, options)}/proposals/${encodeURIComponent(session)}`,
        decidedProposalSchema,
        { method: 'POST', body: { decision: options.accept === undefined ? 'reject' : 'accept' } },
      );
      for (const notice of decided.notices) io.stdout.write(`${makeVisible(notice)}\n`);
      io.stdout.write(`The memory is at version ${decided.version}.\n`);
    });
  registerMemoryCarry(memory, io, path);
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
        const { files } = await client.json(base, sessionFilesSchema);
        for (const file of files)
          io.stdout.write(`${makeVisible(file.path)}  ${file.bytes} bytes  ${file.type}\n`);
        return;
      }
      const answer = await client.open(`${base}/content?path=${encodeURIComponent(path)}`, {
        timeoutMs: 600_000,
      });
      for await (const piece of answer.body ?? []) io.stdout.write(piece);
    });
}
