import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateToolCall } from './evaluate.ts';
import { readPolicy } from './policy-file.ts';
import type { Policy } from './policy.ts';

const open = readPolicy(`
tools: {run_command: allow, write_file: allow, edit_file: allow, read_file: allow}
freeCommands: [ls, git status, npm test]
approvalCommands: [npm test -- --update]
`);

const run = (policy: Policy, command: string) =>
  evaluateToolCall(policy, { tool: 'run_command', arguments: { command } });

test('a free command runs unasked only where the tool does', () => {
  assert.equal(run(open, 'ls -l').verdict, 'allowedWithoutPermission');
  assert.equal(run(readPolicy('freeCommands: [ls]'), 'ls -l').verdict, 'allowedWithPermission');
  assert.equal(
    run(readPolicy('tools: {run_command: exclude}\nfreeCommands: [ls]'), 'ls').verdict,
    'disabled',
  );
});

test('the second judgement hardens and never softens', () => {
  assert.equal(run(open, 'make').verdict, 'allowedWithPermission');
  const refused = run(open, 'ls; sudo ls');
  assert.equal(refused.verdict, 'disabled');
  assert.equal(refused.commandVerdict, 'refuse');
  assert.match(refused.reasons.join(), /privilege escalation/);
  assert.equal(run(open, 'ls (').commandVerdict, 'disabled');
  assert.equal(run(open, 'ls (').verdict, 'disabled');
});

test('an approval command asks although a free command covers it', () => {
  assert.equal(run(open, 'npm test').verdict, 'allowedWithoutPermission');
  assert.equal(run(open, 'npm test -- --update').verdict, 'allowedWithPermission');
});

const paths: readonly (readonly [string, string])[] = [
  ['src/a.ts', 'allowedWithoutPermission'],
  ['.github/workflows/ci.yml', 'allowedWithPermission'],
  ['./src/../.github/workflows/ci.yml', 'allowedWithPermission'],
  ['/workspace/.github/workflows/ci.yml', 'allowedWithPermission'],
  ['.GitHub/workflows/ci.yml', 'allowedWithPermission'],
  ['packages/a/package.json', 'allowedWithPermission'],
  ['/workspace/package.json', 'allowedWithPermission'],
  ['vendor/x/.git/config', 'allowedWithPermission'],
  ['.husky/pre-commit', 'allowedWithPermission'],
  ['AGENTS.md', 'allowedWithPermission'],
  ['src/package.json.ts', 'allowedWithoutPermission'],
];
for (const [path, verdict] of paths)
  test(`a write to ${path} is ${verdict}`, () => {
    for (const tool of ['write_file', 'edit_file'])
      assert.equal(evaluateToolCall(open, { tool, arguments: { path } }).verdict, verdict);
  });

test('reading a flagged file is not a write', () => {
  const call = { tool: 'read_file', arguments: { path: 'package.json' } };
  assert.equal(evaluateToolCall(open, call).verdict, 'allowedWithoutPermission');
});

test('a tool that the policy does not name asks', () => {
  assert.equal(
    evaluateToolCall(open, { tool: 'tracker/create', arguments: {} }).verdict,
    'allowedWithPermission',
  );
});

test('an evaluation that fails is disabled', () => {
  const broken = {
    ...open,
    get freeCommands(): string[] {
      throw new Error('no list');
    },
  };
  const found = run(broken, 'ls');
  assert.equal(found.verdict, 'disabled');
  assert.match(found.reasons.join(), /no list/);
  assert.equal(evaluateToolCall(open, { tool: 'run_command', arguments: {} }).verdict, 'disabled');
  assert.equal(evaluateToolCall(open, { tool: 'write_file', arguments: { path: 7 } }).verdict, 'disabled');
});

test('a judgement that runs out of time is disabled, wherever it is just then', () => {
  const judge = (policy: Policy, command: string, looks: number) => {
    let left = looks;
    return evaluateToolCall(policy, { tool: 'run_command', arguments: { command } }, () => (left -= 1) < 0);
  };
  const long = Array.from({ length: 2_000 }, (_, index) => `ls dir-${index}`).join('\n');
  assert.equal(judge(open, long, Infinity).verdict, 'allowedWithoutPermission');
  for (const looks of [0, 1, 5]) {
    const late = judge(open, long, looks);
    assert.equal(late.verdict, 'disabled', `${looks} looks`);
    assert.match(late.reasons.join(), /longer than it may/);
  }
  const guarded = readPolicy(
    'tools: {run_command: allow}\nfreeCommands: [ls]\nfourEyes: [{commands: [npm publish]}]',
  );
  for (let looks = 0; looks < 40; looks += 1) {
    const { verdict } = judge(guarded, long, looks);
    assert.ok(verdict === 'disabled' || looks > 10, `${looks} looks: ${verdict}`);
  }
  const slow = { tool: 'write_file', arguments: { path: 'a' } };
  assert.equal(evaluateToolCall(open, slow, () => true).verdict, 'disabled');
});
