import { Command } from 'commander';
import type { Argument } from 'commander';
import { registerAccounts } from './commands/accounts.ts';
import { registerAcp } from './commands/acp.ts';
import { registerRoles, registerTokens } from './commands/access.ts';
import { registerAuditExporters } from './commands/audit-exporters.ts';
import { registerAuditVerify } from './commands/audit-verify.ts';
import { registerConsole } from './commands/console.ts';
import { registerCostsReplay } from './commands/costs-replay.ts';
import { registerCostsReport } from './commands/costs-report.ts';
import { registerCostsSettings } from './commands/costs-settings.ts';
import { connectFleet } from './commands/context.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerDiff } from './commands/diff.ts';
import { registerAgents, registerFiles, registerMemory } from './commands/agents.ts';
import { registerLogin } from './commands/login.ts';
import { registerPolicyCheck } from './commands/policy-check.ts';
import { registerPolicyJudge } from './commands/policy-judge.ts';
import { registerRerun } from './commands/rerun.ts';
import { registerSkills } from './commands/skills.ts';
import { registerRun } from './commands/run.ts';
import { registerApprovals, registerSessions } from './commands/sessions.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerEnvironments } from './commands/environments.ts';
import { registerExtend } from './commands/extend.ts';
import { registerHooks } from './commands/hooks.ts';
import { registerInbox } from './commands/inbox.ts';
import { registerIntake } from './commands/intake.ts';
import { registerMessage } from './commands/message.ts';
import { registerNotify } from './commands/notify.ts';
import { registerObjects } from './commands/objects.ts';
import { registerPause } from './commands/pause.ts';
import { registerProjects } from './commands/projects.ts';
import { registerRetention } from './commands/retention.ts';
import { registerRevoke } from './commands/revoke.ts';
import { registerTriggers } from './commands/triggers.ts';
import { registerServers } from './commands/servers.ts';
import { createJsonOutput } from './commands/json-output.ts';
import type { CommandIo } from './io.ts';

/** Every command, as the help lists them. */
const commandGroups = {
  'Sessions:': [
    registerRun,
    registerRerun,
    registerSessions,
    registerApprovals,
    registerExtend,
    registerMessage,
    registerPause,
    registerDiff,
    registerInbox,
  ],
  'What sessions work with:': [
    registerProjects,
    registerPolicyCheck,
    registerPolicyJudge,
    registerEnvironments,
    registerAgents,
    registerSkills,
    registerMemory,
    registerFiles,
    registerObjects,
    registerTriggers,
    registerHooks,
    registerAccounts,
    registerNotify,
  ],
  'The fleet:': [registerServers, registerIntake],
  'Costs:': [registerCostsReplay, registerCostsReport, registerCostsSettings],
  'Security:': [
    registerAuditExporters,
    registerAudit,
    registerRevoke,
    registerRetention,
    registerRoles,
    registerTokens,
  ],
  'This machine:': [registerDoctor, registerLogin, registerConsole, registerAcp],
} as const satisfies Record<string, readonly ((program: Command, io: CommandIo) => void)[]>;

function registerAudit(program: Command, io: CommandIo): void {
  registerAuditVerify(program, {
    ...io,
    fetchJson: async (path, schema) => (await connectFleet(io)).json(path, schema),
  });
}

/** The whole command line. Commander throws instead of exiting, so that `main` alone decides on exit codes. */
export function createProgram(own: CommandIo): Command {
  const output = createJsonOutput(own);
  const { io } = output;
  const program = new Command('lemniscate')
    .description(
      'Runs coding-agent sessions in sandboxes without a network; what comes out is a diff that you accept.',
    )
    .version('0.1.0')
    // Else `skills pull NAME --version 1` would ask the program for its own version.
    .enablePositionalOptions()
    .exitOverride()
    // Every command has options; saying so of each leaves no room for what it does.
    .configureHelp({
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' '),
    })
    .configureOutput({
      writeOut: (text) => void own.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    });
  for (const [group, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(group);
    for (const register of commands) register(program, io);
  }
  output.addTo(program);
  registerCompletion(program, own);
  pointToHelp(program, program.name());
  return program;
}

function argumentTerm(argument: Argument): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

/** After a wrong word one is pointed to the help of the very command. */
function pointToHelp(command: Command, name: string): void {
  command.showHelpAfterError(`Run "${name} --help" to see what there is.`);
  for (const below of command.commands) pointToHelp(below, `${name} ${below.name()}`);
}
