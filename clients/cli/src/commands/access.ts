import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface BindingOptions {
  readonly group?: string;
  readonly person?: string;
  readonly project: string;
}

function readPrincipal({ group, person }: BindingOptions) {
  if (group !== undefined && person === undefined) return { kind: 'group' as const, principal: group };
  if (person !== undefined && group === undefined) return { kind: 'person' as const, principal: person };
  throw new CodedError('request_invalid', 'Name either --group or --person.');
}

/** `lemniscate roles`: which groups and people are what. */
export function registerRoles(program: Command, io: CommandIo): void {
  const roles = program.command('roles').description('Binds roles to groups of the directory and to people.');
  roles
    .command('list')
    .description('Lists who has which role where.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const { bindings } = await ask((await connectFleet(io)).api.GET('/v1/role-bindings'));
      if (options.json === true) return printJson(io, bindings);
      return writeTable(
        io.stdout,
        bindings.map(({ kind, principal, role, project }) => [
          role,
          project === '*' ? 'every project' : project,
          `${kind} ${principal}`,
        ]),
      );
    });
  for (const [name, method, description] of [
    ['bind', 'PUT', 'Gives a role to a group or a person.'],
    ['unbind', 'DELETE', 'Takes a role from a group or a person.'],
  ] as const)
    roles
      .command(name)
      .description(description)
      .argument('<role>')
      .option('--group <name>', 'everybody in this group of the directory')
      .option('--person <subject>', 'one person')
      .option('--project <id>', 'in this project; without it everywhere', '*')
      .action(async (role: string, options: BindingOptions) => {
        // the API says which roles there are
        const binding = { ...readPrincipal(options), role: role as Role, project: options.project };
        const client = await connectFleet(io);
        const { bindings } = await ask(client.api.GET('/v1/role-bindings'));
        const header = seenHeader(
          bindings.find(
            (one) =>
              one.kind === binding.kind &&
              one.principal === binding.principal &&
              one.role === role &&
              one.project === binding.project,
          ),
        );
        if (method === 'PUT')
          await ask(client.api.PUT('/v1/role-bindings', { params: { header }, body: binding }));
        else await ask(client.api.DELETE('/v1/role-bindings', { params: { query: binding, header } }));
        io.stdout.write(name === 'bind' ? 'Bound.\n' : 'No longer bound.\n');
      });
}

interface TokenOptions {
  readonly project: string;
  readonly role: string[];
  readonly scope: string[];
  readonly days: string;
}

/** `lemniscate tokens`: logins of programs. */
export function registerTokens(program: Command, io: CommandIo): void {
  const tokens = program.command('tokens').description('Makes and ends tokens for programs.');
  tokens
    .command('list')
    .description('Lists the tokens that are in force.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const found = await ask((await connectFleet(io)).api.GET('/v1/tokens'));
      if (options.json === true) return printJson(io, found.tokens);
      return writeTable(
        io.stdout,
        found.tokens.map(({ id, name, project, roles, expiresAt, revokedAt }) => [
          id,
          name,
          project,
          roles.join(','),
          revokedAt === null ? `until ${expiresAt}` : `revoked ${revokedAt}`,
        ]),
      );
    });
  tokens
    .command('create')
    .description('Makes a token and shows it, this once.')
    .argument('<name>', 'what it is for')
    .requiredOption('--project <id>', 'where it works; "*" for every project')
    .requiredOption('--role <role...>', 'what it is; nothing that you are not')
    .requiredOption('--scope <scope...>', 'what it may do, as in sessions:write')
    .option('--days <number>', 'ends after so many days', '90')
    .action(async (name: string, options: TokenOptions) => {
      const created = await ask(
        (await connectFleet(io)).api.POST('/v1/tokens', {
          body: {
            name,
            project: options.project,
            roles: options.role as Role[],
            scopes: options.scope as BodyOf<'/v1/tokens', 'post'>['scopes'],
            expiresInDays: Number(options.days),
          },
        }),
      );
      io.stderr.write(`Token ${created.id}, until ${created.expiresAt}. It is not shown again:\n`);
      io.stdout.write(`${created.token}\n`);
    });
  tokens
    .command('revoke')
    .description('Ends a token at once.')
    .argument('<token>', 'its id')
    .action(async (id: string) => {
      const { api } = await connectFleet(io);
      await ask(api.DELETE('/v1/tokens/{tokenId}', { params: { path: { tokenId: id } } }));
      io.stdout.write('Revoked.\n');
    });
}
