import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { QueryOf } from '@lemniscate/api/client.ts';
import { targetDefinitionSchema } from '@lemniscate/shared/api/notify.ts';
import type { TargetView } from '@lemniscate/shared/api/notify.ts';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { readDefinition, readSecret } from './read-input.ts';
const definitionHelp = 'YAML: name, place, events';
const readTarget = (file: string) => readDefinition(file, targetDefinitionSchema, 'a target');

function showTargets(io: CommandIo, targets: readonly TargetView[]): void {
  const rows = targets.map(({ id, project, definition, enabled, disabledReason }) => {
    const state = enabled ? 'enabled' : `out of use (${disabledReason ?? 'its definition says so'})`;
    return [id, definition.place.kind, project, state, definition.events.join(','), definition.name];
  });
  writeTable(io.stdout, rows);
}

/** `lemniscate notify`: who is told of what happens, and what they said. */
export function registerNotify(program: Command, io: CommandIo): void {
  const notify = program
    .command('notify')
    .description('Who is told of what happens: webhooks, Slack, e-mail, comments on GitHub and GitLab.');
  notify
    .command('list')
    .description('Lists who is told of what.')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { targets } = await ask((await connectFleet(io)).api.GET('/v1/notify-targets'));
      if (json === true) return printJson(io, targets);
      return showTargets(io, targets);
    });
  notify
    .command('create')
    .description('Makes a target; the secret of a webhook is shown, this once.')
    .argument('<file>', definitionHelp)
    .option('--project <id>', 'the project; "*" for all of them', 'local')
    .option('--secret', 'reads its secret from standard input')
    .action(async (file: string, { project, secret }: { project: string; secret?: boolean }) => {
      const definition = await readTarget(file);
      const given =
        secret === true ? { secret: await readSecret(io, `lemniscate notify create ${file} --secret`) } : {};
      const client = await connectFleet(io);
      const body = { project, definition, ...given };
      const made = await ask(client.api.POST('/v1/notify-targets', { body }));
      showTargets(io, [made]);
      if (made.secret === null || secret === true) return;
      io.stderr.write('Its secret, which is not shown again:\n');
      io.stdout.write(`${made.secret}\n`);
    });
  notify
    .command('change')
    .description('Changes a target out of a file.')
    .argument('<target>')
    .argument('<file>', definitionHelp)
    .option('--secret', 'reads a new secret from standard input')
    .action(async (id: string, file: string, { secret }: { secret?: boolean }) => {
      const definition = await readTarget(file);
      const usage = `lemniscate notify change ${id} ${file} --secret`;
      const given = secret === true ? { secret: await readSecret(io, usage) } : {};
      const client = await connectFleet(io);
      const seen = await ask(
        client.api.GET('/v1/notify-targets/{target}', { params: { path: { target: id } } }),
      );
      const changed = await ask(
        client.api.PUT('/v1/notify-targets/{target}', {
          params: { path: { target: id }, header: seenHeader(seen) },
          body: { definition, ...given },
        }),
      );
      showTargets(io, [changed]);
    });
  notify
    .command('remove')
    .description('Removes a target.')
    .argument('<target>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const seen = await ask(
        client.api.GET('/v1/notify-targets/{target}', { params: { path: { target: id } } }),
      );
      await ask(
        client.api.DELETE('/v1/notify-targets/{target}', {
          params: { path: { target: id }, header: seenHeader(seen) },
        }),
      );
      io.stdout.write('Removed.\n');
    });
  registerMessages(notify, io);
}

/** The log of deliveries, and sending. */
function registerMessages(notify: Command, io: CommandIo): void {
  notify
    .command('test')
    .description('Sends a message that says nothing, to see whether it arrives.')
    .argument('<target>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const { message } = await ask(
        client.api.POST('/v1/notify-targets/{target}/test', { params: { path: { target: id } } }),
      );
      io.stdout.write(`${message}\n`);
    });
  notify
    .command('log')
    .description('Lists what a target was told, and what it said to it.')
    .argument('<target>')
    .option('--state <state>', 'pending, delivered or failed')
    .option('--json', 'as JSON')
    .action(async (id: string, { state, json }: { state?: string; json?: boolean }) => {
      const query = { limit: 100, state } as QueryOf<'/v1/notify-targets/{target}/messages', 'get'>;
      const client = await connectFleet(io);
      const { messages } = await ask(
        client.api.GET('/v1/notify-targets/{target}/messages', { params: { path: { target: id }, query } }),
      );
      if (json === true) return printJson(io, messages);
      const rows = messages.map(({ id: message, createdAt, type, state: now, attempts }) => {
        const last = attempts.at(-1);
        const said = last === undefined ? 'not tried yet' : (last.fault ?? `answered ${last.status ?? ''}`);
        return [message, createdAt, type, now, said];
      });
      return writeTable(io.stdout, rows);
    });
  notify
    .command('resend')
    .description('Sends a message once more, under the same id.')
    .argument('<target>')
    .argument('<message>')
    .action(async (id: string, message: string) => {
      const client = await connectFleet(io);
      await ask(
        client.api.POST('/v1/notify-targets/{target}/messages/{message}/resend', {
          params: { path: { target: id, message } },
        }),
      );
      io.stdout.write('Sent again.\n');
    });
}
