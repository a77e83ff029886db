import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { createProgram } from '../program.ts';
import { createJsonOutput } from './json-output.ts';

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

/** Every command that does something, with its whole name: also a group that lists by itself. */
function doing(command: Command, name = ''): [string, Command][] {
  const below = command.commands.flatMap((one) => doing(one, `${name} ${one.name()}`.trim()));
  const does = name !== '' && '_actionHandler' in command && command._actionHandler !== null;
  return does ? [[name, command], ...below] : below;
}

/** Names of the commands that do not take `--json`. */
function lacking(program: Command): string[] {
  return doing(program)
    .filter(([, command]) => !command.options.some(({ long }) => long === '--json'))
    .map(([name]) => name);
}

test('every command that is registered has --json', () => {
  const program = createProgram(fakeIo().io);
  const names = doing(program).map(([name]) => name);
  assert.ok(names.length > 100, `${names.length} commands`);
  for (const name of ['acp', 'login', 'intake', 'complete', 'policy schema', 'servers join'])
    assert.ok(names.includes(name), name);
  assert.deepEqual(lacking(program), []);
  // That this can fail: one that came without it.
  program.command('late').action(() => undefined);
  assert.deepEqual(lacking(program), ['late']);
});

async function printedBy(...args: string[]): Promise<unknown[]> {
  const { io, written } = fakeIo();
  await createProgram(io).parseAsync(args, { from: 'user' });
  return written
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

test('what the shell sources and asks is there as JSON', async () => {
  const [completion] = (await printedBy('completion', 'bash', '--json')) as [Record<string, string>];
  assert.equal(completion['shell'], 'bash');
  assert.match(completion['script'] ?? '', /__lemniscate_complete/);
  assert.deepEqual(await printedBy('complete', '--json', '--', 'policy', 'sch'), [
    { completions: [{ value: 'schema', description: 'Prints the JSON Schema of a policy, for editors.' }] },
  ]);
});

test('the schema of a policy is one line of JSON', async () => {
  const [schema, ...others] = (await printedBy('policy', 'schema', '--json')) as [Record<string, unknown>];
  assert.equal(schema['type'], 'object');
  assert.deepEqual(others, []);
});

test('a server that is to join names the file of its public key as JSON', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-join-'));
  t.after(() => rm(folder, { recursive: true }));
  assert.deepEqual(await printedBy('servers', 'join', '--to', folder, '--json'), [
    { publicFile: join(folder, 'key.pem.pub'), capacity: 2 },
  ]);
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
