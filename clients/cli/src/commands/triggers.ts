import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf, QueryOf } from '@lemniscate/api/client.ts';
import { triggerDefinitionSchema } from '@lemniscate/shared/api/trigger.ts';
import type { TriggerView } from '@lemniscate/shared/api/trigger.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { readDefinition, readYaml } from './read-input.ts';

/** Its lists are only read. */
const readTrigger = async (file: string) =>
  (await readDefinition(file, triggerDefinitionSchema, 'a trigger')) as BodyOf<
    '/v1/triggers/{trigger}',
    'put'
  >;

function showTriggers(io: CommandIo, triggers: readonly TriggerView[]): void {
  const rows = triggers.map(({ id, definition, enabled, disabledReason, nextAt }) => {
    const state = enabled ? 'enabled' : `out of use${disabledReason === null ? '' : ` (${disabledReason})`}`;
    return [id, definition.when.kind, definition.agent, state, nextAt ?? '', definition.name];
  });
  writeTable(io.stdout, rows);
}

/** `lemniscate triggers`: schedules and events that start sessions. */
export function registerTriggers(program: Command, io: CommandIo): void {
  const triggers = program
    .command('triggers')
    .description('Schedules and filters that start sessions, and what became of what asked for one.');
  triggers
    .command('list')
    .description('Lists triggers.')
    .option('--project <id>', 'of this project alone')
    .option('--json', 'as JSON')
    .action(async ({ project, json }: { project?: string; json?: boolean }) => {
      const client = await connectFleet(io);
      const found = await ask(client.api.GET('/v1/triggers', { params: { query: { project } } }));
      if (json === true) return printJson(io, found.triggers);
      return showTriggers(io, found.triggers);
    });
  triggers
    .command('create')
    .description('Creates a trigger out of a file.')
    .argument('<file>', 'YAML: name, agent, task, when, repository, model')
    .option('--project <id>', 'the project', 'local')
    .action(async (file: string, { project }: { project: string }) => {
      const body = { project, definition: await readTrigger(file) };
      const client = await connectFleet(io);
      showTriggers(io, [await ask(client.api.POST('/v1/triggers', { body }))]);
    });
  triggers
    .command('change')
    .description('Changes a trigger out of a file; you own it from then on.')
    .argument('<trigger>')
    .argument('<file>')
    .action(async (id: string, file: string) => {
      const body = await readTrigger(file);
      const client = await connectFleet(io);
      const seen = await ask(client.api.GET('/v1/triggers/{trigger}', { params: { path: { trigger: id } } }));
      const params = { path: { trigger: id }, header: seenHeader(seen) };
      showTriggers(io, [await ask(client.api.PUT('/v1/triggers/{trigger}', { params, body }))]);
    });
  triggers
    .command('remove')
    .description('Removes a trigger.')
    .argument('<trigger>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const seen = await ask(client.api.GET('/v1/triggers/{trigger}', { params: { path: { trigger: id } } }));
      await ask(
        client.api.DELETE('/v1/triggers/{trigger}', {
          params: { path: { trigger: id }, header: seenHeader(seen) },
        }),
      );
      io.stdout.write('Removed.\n');
    });
  registerTrials(triggers, io);
}

function registerTrials(triggers: Command, io: CommandIo): void {
  triggers
    .command('try')
    .description('Says whether an event would set a trigger off, or when a schedule is due; starts nothing.')
    .argument('<file>', 'the trigger’s definition')
    .option('--event <file>', 'a CloudEvent as JSON')
    .option('--project <id>', 'the project', 'local')
    .action(async (file: string, { event, project }: { event?: string; project: string }) => {
      const { when } = await readTrigger(file);
      const body = {
        project,
        when,
        ...(event === undefined ? {} : { event: (await readYaml(event)) as BodyOf<'/v1/events', 'post'> }),
      };
      const client = await connectFleet(io);
      const tried = await ask(client.api.POST('/v1/triggers/try', { body }));
      if (tried.matches !== null) io.stdout.write(tried.matches ? 'It would.\n' : 'It would not:\n');
      for (const filter of tried.unmatched) io.stdout.write(`  ${makeVisibleLine(filter)}\n`);
      for (const time of tried.next) io.stdout.write(`${time}\n`);
    });
  triggers
    .command('send')
    .description('Sends an event.')
    .argument('<file>', 'a CloudEvent as JSON')
    .option('--project <id>', 'the project', 'local')
    .action(async (file: string, { project }: { project: string }) => {
      const client = await connectFleet(io);
      const taken = await ask(
        client.api.POST('/v1/events', {
          params: { query: { project } },
          // the API says what of it is no event
          body: (await readYaml(file)) as BodyOf<'/v1/events', 'post'>,
        }),
      );
      io.stdout.write(
        taken.duplicate ? 'It has come before.\n' : `${taken.deliveries.length} triggers set off.\n`,
      );
    });
  triggers
    .command('deliveries')
    .description('Lists what asked for sessions, and why nothing was started where nothing was.')
    .option('--project <id>', 'of this project alone')
    .option('--state <state>', 'pending, started, refused or ignored')
    .option('--json', 'as JSON')
    .action(async ({ json, ...filters }: { project?: string; state?: string; json?: boolean }) => {
      const client = await connectFleet(io);
      const found = await ask(
        client.api.GET('/v1/deliveries', { params: { query: filters as QueryOf<'/v1/deliveries', 'get'> } }),
      );
      if (json === true) return printJson(io, found.deliveries);
      return writeTable(
        io.stdout,
        found.deliveries.map(({ at, cause, agent, state, reason, message, session }) => [
          at,
          cause,
          agent ?? '–',
          state,
          session ?? `${reason ?? ''} ${message ?? ''}`,
        ]),
      );
    });
}
