import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import pc from 'picocolors';
import { padColumns } from '../columns.ts';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { printJson } from './context.ts';
import { doctorChecks, programOutput } from './doctor-checks.ts';
import type { Finding } from './doctor-finding.ts';

/** `lemniscate doctor`: looks at the whole installation and says what to do. */
export function registerDoctor(program: Command, io: CommandIo): void {
  program
    .command('doctor')
    .description('Checks this installation and the fleet behind it, and says what to do. Exit 1 on a fault.')
    .option('--json', 'as JSON')
    .action(async (options: { json?: boolean }) => {
      const deps = { env: io.env, now: Date.now, platform: process.platform, output: programOutput };
      const findings = (await Promise.all(doctorChecks.map((check) => check(deps)))).flat();
      if (options.json === true) printJson(io, { findings });
      else for (const finding of findings) show(finding, io);
      if (findings.some(({ state }) => state === 'fault')) io.setExitCode(exitCodes.failed);
    });
}

function show({ check, state, found, advice }: Finding, io: CommandIo): void {
  const paint = pc.createColors(io.colour);
  const marks = { ok: paint.green('✓'), warning: paint.yellow('!'), fault: paint.red('✗') };
  io.stdout.write(`${marks[state]} ${padColumns(check, 10)} ${makeVisibleLine(found)}\n`);
  if (advice !== undefined) io.stdout.write(`  ${' '.repeat(10)} → ${makeVisibleLine(advice)}\n`);
}
