import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { registerPolicyCheck } from './policy-check.ts';
import { registerPolicyJudge } from './policy-judge.ts';

async function run(args: readonly string[], input: string | Buffer) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let exitCode: number | undefined;
  const io: CommandIo = {
    stdin: Readable.from([input]),
    stdout,
    stderr,
    env: {},
    interactive: false,
    colour: false,
    signal: new AbortController().signal,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  const program = new Command('lemniscate').exitOverride();
  registerPolicyCheck(program, io);
  registerPolicyJudge(program, io);
  const told = Promise.all([stdout.setEncoding('utf8').toArray(), stderr.setEncoding('utf8').toArray()]);
  await program.parseAsync(['node', 'lemniscate', 'policy', ...args]);
  stdout.end();
  stderr.end();
  const [out, err] = await told;
  return { stdout: out.join(''), stderr: err.join(''), exitCode };
}

const lines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, never>);

test('judges one command a line, in order', async () => {
  const asked = [
    { command: 'ls -l | wc -l', free: ['ls', 'wc'] },
    { command: 'sudo ls', free: [] },
    { command: 'echo "', free: [] },
    { command: 'make' },
  ];
  const { stdout, exitCode } = await run(['judge'], asked.map((one) => JSON.stringify(one)).join('\n'));
  assert.deepEqual(
    lines(stdout).map((answer) => answer['verdict']),
    ['allow', 'refuse', 'disabled', 'ask'],
  );
  assert.deepEqual(lines(stdout)[0]?.['pieces'], [
    { text: 'ls -l', verdict: 'allow', reason: 'free command: ls' },
    { text: 'wc -l', verdict: 'allow', reason: 'free command: wc' },
  ]);
  assert.equal(exitCode, 0);
});

test('a policy brings its free commands and its approval commands', async () => {
  const policy = { freeCommands: ['npm test'], approvalCommands: ['npm test -- -u'] };
  const asked = ['npm test', 'npm test -- -u'].map((command) => JSON.stringify({ command, policy }));
  const { stdout } = await run(['judge'], asked.join('\n'));
  assert.deepEqual(
    lines(stdout).map((answer) => answer['verdict']),
    ['allow', 'ask'],
  );
});

test('a draft that disables commands or asks about all of them says so of each', async () => {
  const asked = (['exclude', 'ask', 'allow', undefined] as const).map((value) => ({
    command: 'ls',
    free: ['ls'],
    policy: value === undefined ? {} : { tools: { run_command: value } },
  }));
  const { stdout } = await run(['judge'], asked.map((one) => JSON.stringify(one)).join('\n'));
  assert.deepEqual(
    lines(stdout).map((answer) => answer['verdict']),
    ['disabled', 'ask', 'allow', 'allow'],
  );
});

test('an unreadable line is answered in its place and makes the exit code 2', async () => {
  const long = JSON.stringify({ command: 'a'.repeat(1_100_000) });
  const given = [
    '{"command": "ls"}',
    'nonsense',
    '{"free": []}',
    '{"command": 7}',
    long,
    '',
    '{"command": "ls"}',
  ];
  const { stdout, exitCode } = await run(['judge'], `${given.join('\n')}\n`);
  const answers = lines(stdout);
  assert.deepEqual(
    answers.map((answer) =>
      'error' in answer ? (answer['error'] as { code: string }).code : answer['verdict'],
    ),
    ['ask', 'request_invalid', 'request_invalid', 'request_invalid', 'request_invalid', 'ask'],
  );
  assert.equal(exitCode, 2);
});

test('a key that is misspelt makes the line unreadable; what else a line carries does not', async () => {
  const given = [
    '\uFEFF{"command": "ls", "free": ["ls"]}',
    '{"command": "ls", "frees": ["ls"]}',
    '{"command": "ls", "policies": {}}',
    '{"command": "ls", "free": ["ls"], "id": 7, "expected": "allow"}',
  ];
  const { stdout, exitCode } = await run(['judge'], given.join('\n'));
  assert.deepEqual(
    lines(stdout).map((answer) => answer['verdict']),
    ['allow', undefined, undefined, 'allow'],
  );
  assert.match(stdout, /Line 2 cannot be read: .*frees/);
  assert.equal(exitCode, 2);
});

test('check names the line of every fault', async () => {
  const { stderr, stdout, exitCode } = await run(['check', '-'], 'tools:\n  run_command: maybe\nfoo: 1\n');
  assert.match(stderr, /^-:2:\d+: tools\.run_command: /m);
  assert.match(stderr, /^-:3:\d+: foo: /m);
  assert.equal(stdout, '');
  assert.equal(exitCode, 2);
});

test('check tells the digest and what probably is not meant', async () => {
  const { stdout, exitCode } = await run(['check', '-', '--json'], 'freeCommands: [ls]\n');
  const [report] = lines(stdout);
  assert.equal(report?.['valid'], true);
  assert.match(String(report?.['digest']), /^[0-9a-f]{64}$/);
  assert.match(String(report?.['advice']), /no effect/);
  assert.equal(exitCode, 0);
});

test('check says which file it cannot read', async () => {
  await assert.rejects(run(['check', '/nowhere/policy.yaml'], ''), { code: 'request_invalid' });
});

test('schema prints the schema', async () => {
  const { stdout } = await run(['schema'], '');
  assert.equal((JSON.parse(stdout) as { title: string }).title, 'Project policy');
});
