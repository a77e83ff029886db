import type { Command } from 'commander';

/** The command `costs` that all of its files add to. */
export function costsCommand(program: Command): Command {
  return (
    program.commands.find((command) => command.name() === 'costs') ??
    program.command('costs').description('What sessions used and cost.')
  );
}
