import { ask } from '@lemniscate/api/client.ts';
import { visibleJson } from '@lemniscate/shared/text/visible.ts';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet } from './context.ts';

interface ResendOptions {
  readonly sink: string;
  readonly from: number;
  readonly to: number;
}

/** `lemniscate audit exporters` and `lemniscate audit resend`: how far the receivers are, and what they get again. */
export function registerAuditExporters(program: Command, io: CommandIo): void {
  const audit = program.commands.find((command) => command.name() === 'audit') ?? program.command('audit');
  audit
    .command('exporters')
    .description(
      'Says how far each receiver of the audit log is, and which ranges are sent again (auditors).',
    )
    .option('--json', 'one JSON object')
    .action(async ({ json }: { json?: boolean }) => {
      const client = await connectFleet(io);
      const exporters = await ask(client.api.GET('/v1/audit/exporters'));
      const { resends } = await ask(client.api.GET('/v1/audit/exporters/resends'));
      if (json === true) return void io.stdout.write(`${visibleJson({ ...exporters, resends })}\n`);
      io.stdout.write(`${exporters.logSize} entries in the log\n`);
      writeTable(
        io.stdout,
        exporters.sinks.map(({ name, delivered, behind, deadLetters }) => [
          name,
          `${delivered} delivered, ${behind} behind, ${deadLetters} refused for good`,
        ]),
      );
      writeTable(
        io.stdout,
        resends.map(({ id, sink, from, to, next, doneAt, refused }) => [
          id,
          sink,
          `${from} to ${to - 1}: ${refused ?? (doneAt === null ? `at ${next}` : 'done')}`,
        ]),
      );
      return undefined;
    });
  audit
    .command('resend')
    .description(
      'Sends a range of the log to a receiver once more; it drops what it has by the ids (administrators).',
    )
    .requiredOption('--sink <name>', 'as "lemniscate audit exporters" names it')
    .requiredOption('--from <index>', 'first entry', readIndex)
    .requiredOption('--to <index>', 'the entry after the last', readIndex)
    .action(async ({ sink, from, to }: ResendOptions) => {
      const client = await connectFleet(io);
      const body = { sink, from, to };
      const asked = await ask(client.api.POST('/v1/audit/exporters/resends', { body }));
      io.stdout.write(`${asked.id}: ${to - from} entries are sent again.\n`);
    });
}

function readIndex(given: string): number {
  const index = Number(given);
  if (Number.isSafeInteger(index) && index >= 0) return index;
  throw new InvalidArgumentError('An index is a whole number from 0 on.');
}
