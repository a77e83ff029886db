import { ask } from '@lemniscate/api/client.ts';
import { resolve } from 'node:path';
import type { EnvironmentView } from '@lemniscate/shared/api/environment.ts';
import { positionedEventSchema } from '@lemniscate/shared/protocol/session-event.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { z } from 'zod';
import { followSession } from '../follow/event-stream.ts';
import { createSessionView } from '../follow/session-view.ts';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface Options {
  readonly project: string;
  readonly json?: boolean;
  readonly repo?: string;
  readonly revision?: string;
  readonly follow?: boolean;
}

const logPageSchema = z.object({ events: z.array(positionedEventSchema), nextAfter: z.number().nullable() });

function rowOf({ id, state, key, cause, session, startedAt, bytes }: EnvironmentView): string[] {
  const size = bytes === null ? '' : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  return [id, state, key?.slice(0, 12) ?? '–', cause, startedAt, session, size];
}

/** `lemniscate environments`: what is installed for a project before its sessions. */
export function registerEnvironments(program: Command, io: CommandIo): void {
  const environments = program
    .command('environments')
    .description('Shows and builds what is installed for a project before its sessions.');
  const add = (command: Command): Command => command.option('--project <id>', 'the project', 'local');
  add(environments.command('list').description('Lists the environments of a project.'))
    .option('--json', 'as JSON')
    .action(async (options: Options) => {
      const found = await ask(
        (await connectFleet(io)).api.GET('/v1/projects/{id}/environments', {
          params: { path: { id: options.project } },
        }),
      );
      if (options.json === true) return printJson(io, found.environments);
      writeTable(io.stdout, found.environments.map(rowOf));
      return undefined;
    });
  add(environments.command('show').description('Shows one environment.').argument('<environment>'))
    .option('--json', 'as JSON')
    .action(async (id: string, options: Options) => {
      const found = await read(io, id, options);
      if (options.json === true) return printJson(io, found);
      writeTable(io.stdout, [rowOf(found)]);
      if (found.message !== null) io.stdout.write(`${makeVisible(found.message)}\n`);
      return undefined;
    });
  add(environments.command('log').argument('<environment>'))
    .description('Shows what a build printed.')
    .option('-f, --follow', 'go on as it happens')
    .option('--json', 'one event a line')
    .action((id: string, options: Options) => showLog(io, id, options));
  add(environments.command('build'))
    .description('Builds the environment that a repository needs, before a session asks for it.')
    .option('--repo <address>', 'https or ssh address, or a folder that the fleet can read', '.')
    .option('--revision <name>', 'branch, tag or commit')
    .option('--json', 'as JSON')
    .action(async (options: Options) => {
      const client = await connectFleet(io);
      const body = { repository: repositoryOf(options) };
      const built = await ask(
        client.api.POST('/v1/projects/{id}/environments', {
          params: { path: { id: options.project } },
          body,
        }),
      );
      if (options.json === true) return printJson(io, built);
      io.stdout.write(`${built.id} is being built. lemniscate environments log -f ${built.id}\n`);
      return undefined;
    });
}

function repositoryOf({ repo = '.', revision }: Options) {
  const source = /^[a-z]+:\/\//.test(repo)
    ? ({ kind: 'git', url: repo } as const)
    : ({ kind: 'path', path: resolve(repo) } as const);
  return { ...source, ...(revision === undefined ? {} : { revision }) };
}

async function read(io: CommandIo, id: string, options: Options): Promise<EnvironmentView> {
  const client = await connectFleet(io);
  return ask(
    client.api.GET('/v1/projects/{id}/environments/{environment}', {
      params: { path: { id: options.project, environment: id } },
    }),
  );
}

async function showLog(io: CommandIo, id: string, options: Options): Promise<void> {
  const client = await connectFleet(io);
  const { session } = await read(io, id, options);
  const view = createSessionView(io.stdout, { colour: io.colour });
  const show = (event: z.infer<typeof positionedEventSchema>): void =>
    options.json === true ? printJson(io, event) : view.show(event);
  if (options.follow === true) {
    const following = { sessionId: session, after: 0, signal: io.signal, patienceMs: 300_000 };
    for await (const event of followSession(client, following)) show(event);
    return view.flush();
  }
  for (let after: number | null = 0; after !== null;) {
    io.signal.throwIfAborted();
    const page: z.infer<typeof logPageSchema> = await ask(
      client.api.GET('/v1/sessions/{id}/log', { params: { path: { id: session }, query: { after } } }),
    );
    page.events.forEach(show);
    after = page.nextAfter;
  }
  view.flush();
}
