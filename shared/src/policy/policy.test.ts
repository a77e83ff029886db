import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyAdvice } from './policy-advice.ts';
import { policyDigest } from './policy-digest.ts';
import { checkPolicy, maxPolicyLength, readPolicy } from './policy-file.ts';
import { policyJsonSchema } from './policy-json-schema.ts';
import { defaultPolicy, toolVerdict } from './policy.ts';

test('an empty policy asks about every tool and bounds every session', () => {
  for (const text of ['', '{}', '# nothing yet\n']) assert.deepEqual(readPolicy(text), defaultPolicy());
  const policy = defaultPolicy();
  assert.equal(toolVerdict(policy, 'run_command'), 'allowedWithPermission');
  assert.equal(toolVerdict(policy, 'constructor'), 'allowedWithPermission');
  assert.deepEqual(policy.budgets, {
    maxActions: 150,
    maxMinutes: 45,
    maxExtensions: 5,
    maxTokens: 50_000_000,
    maxCostUsd: '100',
    maxCommands: 1_000,
    unpricedModels: 'allow',
  });
  assert.equal(policy.commandMaxSeconds, 600);
  assert.equal(policy.commandMaxOutputBytes, 10_485_760);
  assert.equal(policy.approvalTtlSeconds, 86_400);
  assert.equal(policy.continueAfterToolRejection, false);
});

test('the terminal’s names of the verdicts are stored as the verdicts', () => {
  const policy = readPolicy('tools: {read_file: allow, run_command: ask, write_file: exclude}');
  assert.deepEqual(policy.tools, {
    read_file: 'allowedWithoutPermission',
    run_command: 'allowedWithPermission',
    write_file: 'disabled',
  });
});

const faulty: readonly (readonly [string, number, string])[] = [
  ['tools:\n  run_command: maybe\n', 2, 'tools.run_command'],
  ['budgets:\n  maxActions: 10\n  maxAction: 5\n', 3, 'budgets.maxAction'],
  ['freeComands: []\n', 1, 'freeComands'],
  ['tools: {}\nfreeComands:\n  - ls\n', 2, 'freeComands'],
  ['budgets:\n  maxThings:\n    a: 1\n', 2, 'budgets.maxThings'],
  ['tools:\n  read_file: ask\n  run_comand: exclude\n', 3, 'tools.run_comand'],
  ['runtimes:\n  - native\n  - codx\n', 3, 'runtimes.1'],
  ['a: &a [ls]\nfreeCommands: *a\n', 2, ''],
  ['budgets:\n  maxActions: "150"\n', 2, 'budgets.maxActions'],
  ['budgets:\n  maxMinutes: 0\n', 2, 'budgets.maxMinutes'],
  ['budgets:\n  maxCostUsd: 2.5\n', 2, 'budgets.maxCostUsd'],
  ['budgets:\n  maxCostUsd: "-1"\n', 2, 'budgets.maxCostUsd'],
  ['freeCommands:\n  - ls\n  - "  "\n', 3, 'freeCommands.1'],
  ['execution: cloud\n', 1, 'execution'],
  ['models: []\n', 1, 'models'],
  ['a: 1\na: 2\n', 2, ''],
  ['tools: [\n', 2, ''],
  ['- ls\n', 1, ''],
  ['42\n', 1, ''],
];

for (const [text, line, path] of faulty)
  test(`refuses ${JSON.stringify(text)} and names the line`, () => {
    const { policy, faults } = checkPolicy(text);
    assert.equal(policy, undefined);
    assert.equal(faults[0]?.line, line);
    assert.equal(faults[0]?.path, path);
    assert.throws(() => readPolicy(text), { code: 'request_invalid' });
  });

test('a text that blows itself up is refused', () => {
  assert.equal(checkPolicy(`${'#'.repeat(maxPolicyLength)}\n{}`).policy, undefined);
  const bomb = 'a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n';
  assert.throws(() => readPolicy(bomb), { code: 'request_invalid' });
});

test('the digest does not depend on order or on what is written out, but on every value', () => {
  const one = policyDigest(readPolicy('execution: server\ntools: {read_file: allow}'));
  const two = policyDigest(
    readPolicy('{"tools": {"read_file": "allowedWithoutPermission"}, "execution": "server"}'),
  );
  assert.equal(one, two);
  assert.match(one, /^[0-9a-f]{64}$/);
  assert.notEqual(one, policyDigest(readPolicy('execution: server')));
  assert.equal(policyDigest(defaultPolicy()), policyDigest(readPolicy('commandMaxSeconds: 600')));
});

test('the published schema refuses unknown members too', () => {
  const schema = policyJsonSchema();
  assert.equal(schema['additionalProperties'], false);
  assert.ok(JSON.stringify(schema).includes('approvalTtlSeconds'));
});

test('advice tells rules without an effect', () => {
  assert.match(policyAdvice(readPolicy('freeCommands: [ls]')).join(' '), /no effect/);
  const bash =
    'tools: {run_command: allow}\nfreeCommands: [bash, ls]\napprovalCommands: [ls]\nflaggedPaths: []';
  assert.equal(policyAdvice(readPolicy(bash)).length, 3);
  assert.deepEqual(policyAdvice(defaultPolicy()), []);
});

test('bounds of the fleet hold where a policy writes none, for sessions and for commands', () => {
  const fleet = {
    maxActions: 9,
    maxTokens: 70,
    maxCostUsd: '3',
    commandMaxSeconds: 30,
    commandMaxOutputBytes: 2048,
  };
  const silent = readPolicy('', fleet);
  assert.equal(silent.budgets.maxActions, 9);
  assert.deepEqual([silent.budgets.maxTokens, silent.budgets.maxCostUsd], [70, '3']);
  assert.equal(silent.commandMaxSeconds, 30);
  assert.equal(silent.commandMaxOutputBytes, 2048);
  const written = readPolicy('commandMaxSeconds: 60\nbudgets: { maxActions: 7 }', fleet);
  assert.equal(written.budgets.maxActions, 7);
  assert.equal(written.commandMaxSeconds, 60);
  assert.equal(written.commandMaxOutputBytes, 2048);
});

test('a member that a record cannot hold is refused with its line, at every depth and in JSON', () => {
  for (const text of ['{"tools": {"__proto__": "allow"}}', '__proto__: {}', 'budgets:\n  __proto__: 1']) {
    const { policy, faults } = checkPolicy(text);
    assert.equal(policy, undefined, text);
    assert.deepEqual([faults[0]?.line, faults[0]?.path], [text.split('\n').length, '__proto__'], text);
  }
});
