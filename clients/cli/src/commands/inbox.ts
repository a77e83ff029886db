import { ask } from '@lemniscate/api/client.ts';
import type { QueryOf } from '@lemniscate/api/client.ts';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface InboxOptions {
  readonly show: string;
  readonly kind?: string;
  readonly json?: boolean;
}

/** `lemniscate inbox`: what waits for you. */
export function registerInbox(program: Command, io: CommandIo): void {
  const inbox = program
    .command('inbox')
    .description('Lists results to review, approvals, failures and mentions that wait for you.')
    .option('--show <which>', 'open, unread, done or all', 'open')
    .option('--kind <kind>', 'mention, assignment, result, failure, approval or budget')
    .option('--json', 'as JSON')
    .action(async ({ json, ...filters }: InboxOptions) => {
      const client = await connectFleet(io);
      const page = await ask(
        client.api.GET('/v1/inbox', { params: { query: filters as QueryOf<'/v1/inbox', 'get'> } }),
      );
      if (json === true) return printJson(io, page);
      writeTable(
        io.stdout,
        page.items.map(({ id, kind, session, object, readAt, title }) => [
          `${readAt === null ? '*' : ' '} ${id}`,
          kind,
          session ?? object ?? '',
          title,
        ]),
      );
      io.stdout.write(`${page.unread} unread\n`);
      return undefined;
    });
  for (const [name, mark, description] of [
    ['read', { read: true }, 'Marks an item as read.'],
    ['done', { done: true }, 'Puts an item away.'],
    ['reopen', { read: false, done: false }, 'Takes an item back, unread.'],
  ] as const)
    inbox
      .command(name)
      .description(description)
      .argument('<item>')
      .action(async (item: string) => {
        const client = await connectFleet(io);
        const marked = await ask(
          client.api.PUT('/v1/inbox/{item}', { params: { path: { item } }, body: mark }),
        );
        io.stdout.write(`${marked.id}  ${marked.doneAt === null ? 'open' : 'done'}\n`);
      });
}
