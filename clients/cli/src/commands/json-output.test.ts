import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { createProgram } from '../program.ts';
import { createJsonOutput, withoutJson } from './json-output.ts';

function fakeIo() {
  const written: string[] = [];
  const io: CommandIo = {
    stdin: new PassThrough(),
    stdout: new Writable({
      write: (chunk: Buffer, _encoding, taken) => {
        written.push(chunk.toString());
        taken();
      },
    }),
    stderr: new PassThrough(),
    env: {},
    interactive: false,
    colour: false,
    signal: new AbortController().signal,
    setExitCode: () => undefined,
  };
  return { io, written };
}

/** Every command that has no others below it, with its whole name. */
function leaves(command: Command, name = ''): [string, Command][] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((below) => leaves(below, `${name} ${below.name()}`.trim()));
}

test('every command has --json, but for those that are named', () => {
  const all = leaves(createProgram(fakeIo().io));
  const without = all
    .filter(([, command]) => !command.options.some(({ long }) => long === '--json'))
    .map(([name]) => name);
  assert.ok(all.length > 90);
  assert.deepEqual(without.toSorted(), [...withoutJson].toSorted());
});

function programOf(heard: unknown) {
  const { io: own, written } = fakeIo();
  const output = createJsonOutput(own);
  const program = new Command('x');
  program.command('say').action(() => {
    output.io.onAnswer?.(heard);
    output.io.stdout.write('A sentence.\n');
  });
  output.addTo(program);
  return { written, run: (...args: string[]) => program.parseAsync(args, { from: 'user' }) };
}

test('with --json the sentence is left out and the answer is there', async () => {
  const { written, run } = programOf({ id: 'o_1' });
  await run('say');
  await run('say', '--json');
  assert.deepEqual(written, ['A sentence.\n', '{"id":"o_1"}\n']);
});

test('an answer without a body says that it is done', async () => {
  const { written, run } = programOf(undefined);
  await run('say', '--json');
  assert.deepEqual(written, ['{"done":true}\n']);
});
