import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { webhookSources } from '@lemniscate/shared/api/trigger.ts';
import { Argument } from 'commander';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
const source = (): Argument => new Argument('<source>', 'the system').choices(webhookSources);

/** The version of a link that there is, for its change. */
async function seenLink(
  { api }: Awaited<ReturnType<typeof connectFleet>>,
  source: string,
  account: string,
): Promise<{ 'if-match': string }> {
  const { links } = await ask(api.GET('/v1/account-links'));
  const is = (link: { source: string; account: string }): boolean =>
    link.source === source && link.account === account.toLowerCase();
  return seenHeader(links.find(is));
}

/** `lemniscate accounts`: which people the accounts of other systems are. */
export function registerAccounts(program: Command, io: CommandIo): void {
  const accounts = program
    .command('accounts')
    .description('Says which people accounts of GitHub, GitLab and Slack are; only theirs start sessions.');
  accounts
    .command('list')
    .description('Lists the accounts and whose they are.')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { links } = await ask((await connectFleet(io)).api.GET('/v1/account-links'));
      if (json === true) return printJson(io, links);
      return writeTable(
        io.stdout,
        links.map((link) => [link.source, link.account, link.subject, link.changedAt]),
      );
    });
  accounts
    .command('link')
    .description('Says whose an account is.')
    .addArgument(source())
    .argument('<account>', 'user name; of Slack the member id')
    .argument('<subject>', 'whose it is')
    .action(async (of: (typeof webhookSources)[number], account: string, subject: string) => {
      const client = await connectFleet(io);
      const header = await seenLink(client, of, account);
      const body = { source: of, account, subject };
      await ask(client.api.PUT('/v1/account-links', { params: { header }, body }));
      io.stdout.write('Linked.\n');
    });
  accounts
    .command('unlink')
    .description('Forgets whose an account is.')
    .addArgument(source())
    .argument('<account>')
    .action(async (of: (typeof webhookSources)[number], account: string) => {
      const client = await connectFleet(io);
      const header = await seenLink(client, of, account);
      await ask(
        client.api.DELETE('/v1/account-links', { params: { query: { source: of, account }, header } }),
      );
      io.stdout.write('No longer linked.\n');
    });
}
