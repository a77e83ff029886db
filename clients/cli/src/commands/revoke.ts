import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

interface RevokeOptions {
  readonly user?: string;
  readonly lift?: boolean;
  readonly note?: string;
}

/** `lemniscate revoke`: an administrator takes away a session, or a person's access with all their sessions. */
export function registerRevoke(program: Command, io: CommandIo): void {
  program
    .command('revoke')
    .description('Ends a session, or takes a person’s access away, at once (administrators).')
    .argument('[session]')
    .option('--user <subject>', 'the person, as "openedBy" of their sessions names them')
    .option('--lift', 'gives the person’s access back')
    .option('--note <text>', 'what the person is told')
    .action((session: string | undefined, options: RevokeOptions) => revoke(session, options, io));
}

async function revoke(session: string | undefined, options: RevokeOptions, io: CommandIo): Promise<void> {
  if ((session === undefined) === (options.user === undefined))
    throw new CodedError(
      'request_invalid',
      'Name either a session or a person: revoke SESSION, or revoke --user SUBJECT.',
    );
  if (options.lift === true && options.user === undefined)
    throw new CodedError(
      'request_invalid',
      'Only a person’s access can be given back; a revoked session has ended.',
    );
  const client = await connectFleet(io);
  const body = options.note === undefined ? {} : { note: options.note };
  if (session !== undefined) {
    const ended = await ask(
      client.api.POST('/v1/sessions/{id}/revoke', { params: { path: { id: session } }, body }),
    );
    io.stdout.write(`${ended.state} (${ended.reason ?? ''})\n`);
    return;
  }
  if (options.lift === true) {
    const subject = options.user ?? '';
    const { users } = await ask(client.api.GET('/v1/revocations'));
    const header = seenHeader(users.find((one) => one.subject === subject));
    await ask(client.api.DELETE('/v1/revocations/{subject}', { params: { path: { subject }, header } }));
    io.stdout.write('The access is given back.\n');
    return;
  }
  const { sessionsEnded } = await ask(
    client.api.PUT('/v1/revocations/{subject}', { params: { path: { subject: options.user ?? '' } }, body }),
  );
  io.stdout.write(`The access is revoked; ${sessionsEnded} sessions ended.\n`);
}
