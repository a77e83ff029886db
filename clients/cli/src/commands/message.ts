import type { Command } from 'commander';
import { finishSession, sendMessage } from '../follow/messages.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

/** `message` and `finish`: for sessions that stay open when they have answered. */
export function registerMessage(program: Command, io: CommandIo): void {
  program
    .command('message')
    .description('Says something to a session that stays open (run --stay).')
    .argument('<session>')
    .argument('<text>')
    .action(async (session: string, text: string) => {
      await sendMessage(await connectFleet(io), session, text);
      io.stdout.write('Sent.\n');
    });
  program
    .command('finish')
    .description('Finishes a session that stays open; its diff is offered.')
    .argument('<session>')
    .action(async (session: string) => {
      await finishSession(await connectFleet(io), session);
      io.stdout.write('It finishes.\n');
    });
}
