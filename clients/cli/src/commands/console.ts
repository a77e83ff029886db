import { ask } from '@lemniscate/api/client.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

/** `console`: a link into the web console that carries this login over, once. */
export function registerConsole(program: Command, io: CommandIo): void {
  program
    .command('console')
    .description('Prints a link that opens the web console with your login; it works once, for 15 minutes.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const link = await newConsoleLink(await connectFleet(io));
      if (options.json === true) return printJson(io, link);
      return void io.stdout.write(`${link.url}\n`);
    });
}

/** Asks for a code and puts it behind `#`, which browsers send to no server. */
export async function newConsoleLink(client: ApiClient): Promise<{ url: string; expiresAt: string }> {
  const { code, expiresAt } = await ask(client.api.POST('/v1/login/links'));
  return { url: new URL(`/console/login#code=${encodeURIComponent(code)}`, client.url).href, expiresAt };
}
