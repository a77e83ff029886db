import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Command } from 'commander';
import type { CommandIo } from './io.ts';
import { createProgram } from './program.ts';

const io: CommandIo = {
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  env: {},
  interactive: false,
  colour: false,
  signal: new AbortController().signal,
  setExitCode: () => undefined,
};
const program = createProgram(io);

/** Every command with its whole name, the program itself first. */
function all(command: Command, name = command.name()): [string, Command][] {
  return [[name, command], ...command.commands.flatMap((below) => all(below, `${name} ${below.name()}`))];
}

test('every command and every option says what it does', () => {
  const commands = all(program);
  assert.ok(commands.length > 100, `${commands.length} commands`);
  const silent = commands.flatMap(([name, command]) => [
    ...(command.description() === '' ? [name] : []),
    ...command.options
      .filter(({ description }) => (description ?? '') === '')
      .map(({ flags }) => `${name} ${flags}`),
  ]);
  assert.deepEqual(silent, []);
});

test('the help lists the commands by what they are for', () => {
  const help = program.helpInformation();
  const at = (text: string): number => {
    assert.ok(help.includes(text), `${text} is in\n${help}`);
    return help.indexOf(text);
  };
  assert.ok(at('Sessions:') < at('  run '));
  assert.ok(at('  inbox ') < at('What sessions work with:'));
  assert.ok(at('The fleet:') < at('  servers '));
  assert.ok(at('Security:') < at('  audit '));
});

test('a wrong word points to the help of its command', async () => {
  const stderr = new PassThrough();
  const other = createProgram({ ...io, stderr });
  await assert.rejects(other.parseAsync(['costs', 'report', '--moon'], { from: 'user' }));
  assert.match(String(stderr.read()), /Run "lemniscate costs report --help"/);
});

test('everything that a person at a keyboard needs is a command', () => {
  const names = program.commands.map((command) => command.name());
  const wanted =
    'run rerun sessions show logs stop pause resume approvals diff accept reject apply agents skills memory triggers servers costs audit policy revoke login logout doctor completion acp';
  assert.deepEqual(
    wanted.split(' ').filter((name) => !names.includes(name)),
    [],
  );
  const run = program.commands.find((command) => command.name() === 'run');
  const options = run?.options.map(({ long }) => long) ?? [];
  for (const option of ['--non-interactive', '--attach', '--project', '--agent', '--json', '--stay'])
    assert.ok(options.includes(option), option);
});
