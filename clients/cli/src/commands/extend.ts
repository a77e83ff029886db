import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import { answerExtension, describeExtension, waitingExtension } from '../follow/extensions.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

/** `lemniscate extend`: answers a session that has used up its budget. */
export function registerExtend(program: Command, io: CommandIo): void {
  program
    .command('extend')
    .description('Extends a session that has used up its budget and asks; says what was used.')
    .argument('<session>')
    .option('--end', 'lets it come to its end instead')
    .action(async (session: string, options: { end?: boolean }) => {
      const client = await connectFleet(io);
      const waiting = await waitingExtension(client, session);
      if (waiting === undefined)
        throw new CodedError('conflict', `Session ${session} does not ask for an extension.`);
      io.stdout.write(`${describeExtension(waiting)}\n`);
      const outcome = await answerExtension(client, waiting, options.end === true ? 'end' : 'extend');
      if (outcome === 'too_late')
        throw new CodedError('conflict', 'It was decided meanwhile; this answer did not count.');
      io.stdout.write(options.end === true ? 'It comes to its end.\n' : 'Extended.\n');
    });
}
