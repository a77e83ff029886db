import { Command } from 'commander';
import { registerAuditVerify } from './commands/audit-verify.ts';
import { connectFleet } from './commands/context.ts';
import { registerDiff } from './commands/diff.ts';
import { registerRun } from './commands/run.ts';
import { registerApprovals, registerSessions } from './commands/sessions.ts';
import type { CommandIo } from './io.ts';

/** The whole command line. Commander throws instead of exiting, so that `main` alone decides on exit codes. */
export function createProgram(io: CommandIo): Command {
  const program = new Command('lemniscate')
    .description(
      'Runs coding-agent sessions in sandboxes without a network; what comes out is a diff that you accept.',
    )
    .version('0.1.0')
    .exitOverride()
    .showHelpAfterError('Run "lemniscate --help" to see what there is.')
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    });
  for (const register of [registerRun, registerDiff, registerSessions, registerApprovals])
    register(program, io);
  registerAuditVerify(program, {
    ...io,
    fetchJson: async (path, schema) => (await connectFleet(io)).json(path, schema),
  });
  for (const command of program.commands) command.exitOverride().showHelpAfterError();
  return program;
}
