import { Writable } from 'node:stream';
import { visibleJson } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';

/** Output of commands that say a sentence: with `--json` it is what the fleet answered last, as one line. */
export interface JsonOutput {
  /** What commands are given. */
  readonly io: CommandIo;
  /** Adds the option to every command that has none; after all commands are there. */
  addTo(program: Command): void;
}

export function createJsonOutput(io: CommandIo): JsonOutput {
  const nowhere = new Writable({ write: (_chunk, _encoding, taken) => taken() });
  const added = new Set<Command>();
  let asked = false;
  let answer: unknown;

  const add = (command: Command): void => {
    for (const below of command.commands) add(below);
    const isGroup = command.commands.length > 0 && !hasAction(command);
    if (command.parent === null || isGroup) return;
    if (command.options.some(({ long }) => long === '--json')) return;
    command.option('--json', 'what the fleet answered, as JSON');
    added.add(command);
  };

  return {
    io: {
      ...io,
      get stdout() {
        return asked ? nowhere : io.stdout;
      },
      onAnswer: (body) => {
        answer = body;
      },
    },
    addTo: (program) => {
      add(program);
      program.hook('preAction', (_program, command) => {
        asked = added.has(command) && command.opts<{ json?: boolean }>().json === true;
      });
      program.hook('postAction', () => {
        if (!asked) return;
        asked = false;
        io.stdout.write(`${visibleJson(answer ?? { done: true })}\n`);
      });
    },
  };
}

/** Whether a command with others below it also does something by itself; commander keeps it to itself. */
function hasAction(command: Command): boolean {
  return '_actionHandler' in command && command._actionHandler !== null;
}
