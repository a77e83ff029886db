import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { hookDefinitionSchema, webhookSources } from '@lemniscate/shared/api/trigger.ts';
import type { HookView } from '@lemniscate/shared/api/trigger.ts';
import { Argument } from 'commander';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { readDefinition, readSecret } from './read-input.ts';
const definitionHelp = 'YAML: name, and perhaps mentions, agent, repository, enabled';

function showHooks(io: CommandIo, hooks: readonly HookView[]): void {
  const rows = hooks.map((hook) => {
    const state = hook.enabled
      ? 'enabled'
      : `out of use (${hook.disabledReason ?? 'its definition says so'})`;
    return [hook.id, hook.source, hook.project, state, hook.url, hook.definition.name];
  });
  writeTable(io.stdout, rows);
}

/** `lemniscate hooks`: addresses to which other systems send what happens there. */
export function registerHooks(program: Command, io: CommandIo): void {
  const hooks = program
    .command('hooks')
    .description('Addresses to which GitHub, GitLab and Slack send what happens there.');
  hooks
    .command('list')
    .description('Lists the addresses.')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await ask((await connectFleet(io)).api.GET('/v1/hooks'));
      if (json === true) return printJson(io, found.hooks);
      return showHooks(io, found.hooks);
    });
  hooks
    .command('create')
    .description('Makes an address and shows its secret, this once.')
    .addArgument(new Argument('<source>', 'the system').choices(webhookSources))
    .argument('<file>', definitionHelp)
    .option('--project <id>', 'the project', 'local')
    .option('--secret', 'reads the secret from standard input instead of making one, as Slack wants it')
    .action(
      async (
        source: (typeof webhookSources)[number],
        file: string,
        options: { project: string; secret?: boolean },
      ) => {
        const usage = `lemniscate hooks create ${source} ${file} --secret`;
        const body = {
          project: options.project,
          source,
          definition: await readDefinition(file, hookDefinitionSchema, 'a hook'),
          ...(options.secret === true ? { secret: await readSecret(io, usage) } : {}),
        };
        const client = await connectFleet(io);
        const made = await ask(client.api.POST('/v1/hooks', { body }));
        showHooks(io, [made]);
        if (options.secret === true) return;
        io.stderr.write('Its secret, which is not shown again:\n');
        io.stdout.write(`${made.secret}\n`);
      },
    );
  hooks
    .command('change')
    .description('Changes a hook out of a file; its sessions run in your name from then on.')
    .argument('<hook>')
    .argument('<file>', definitionHelp)
    .option('--secret', 'reads a new secret from standard input')
    .action(async (id: string, file: string, { secret }: { secret?: boolean }) => {
      const body = {
        definition: await readDefinition(file, hookDefinitionSchema, 'a hook'),
        ...(secret === true
          ? { secret: await readSecret(io, `lemniscate hooks change ${id} ${file} --secret`) }
          : {}),
      };
      const client = await connectFleet(io);
      const seen = await ask(client.api.GET('/v1/hooks/{hook}', { params: { path: { hook: id } } }));
      const params = { path: { hook: id }, header: seenHeader(seen) };
      showHooks(io, [await ask(client.api.PUT('/v1/hooks/{hook}', { params, body }))]);
    });
  hooks
    .command('remove')
    .description('Removes an address; what is sent there is refused.')
    .argument('<hook>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const seen = await ask(client.api.GET('/v1/hooks/{hook}', { params: { path: { hook: id } } }));
      await ask(
        client.api.DELETE('/v1/hooks/{hook}', {
          params: { path: { hook: id }, header: seenHeader(seen) },
        }),
      );
      io.stdout.write('Removed.\n');
    });
}
