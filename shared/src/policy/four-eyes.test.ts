import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requiredPeople } from './four-eyes.ts';
import { checkPolicy, readPolicy } from './policy-file.ts';

const policy = readPolicy(`
fourEyes:
  - commands: [npm publish]
  - paths: ['.github/**']
    people: 3
  - tools: [tracker/close]
`);
const run = (command: string) => requiredPeople(policy, { tool: 'run_command', arguments: { command } });
const write = (path: string, tool = 'write_file') => requiredPeople(policy, { tool, arguments: { path } });

test('a rule fits by command, also behind wrappers and in chains', () => {
  assert.equal(run('npm publish --tag next'), 2);
  assert.equal(run('cd a && env X=1 npm publish'), 2);
  assert.equal(run('npm test'), 1);
});

test('a rule fits by path and by tool; reading is nobody’s business', () => {
  assert.equal(write('.github/workflows/ci.yml'), 3);
  assert.equal(write('src/a.ts'), 1);
  assert.equal(write('.github/workflows/ci.yml', 'read_file'), 1);
  assert.equal(requiredPeople(policy, { tool: 'tracker/close', arguments: {} }), 2);
  const all = readPolicy('fourEyes: [{tools: [tracker/*]}]');
  assert.equal(requiredPeople(all, { tool: 'tracker/close', arguments: {} }), 2);
  assert.equal(requiredPeople(all, { tool: 'other/close', arguments: {} }), 1);
});

test('one pair of eyes is no rule, and a rule must fit something', () => {
  assert.equal(checkPolicy('fourEyes: [{tools: [delegate], people: 1}]').policy, undefined);
  assert.equal(checkPolicy('fourEyes: [{people: 2}]').policy, undefined);
});

test('the settings’ names of the bounds are the budgets, and never both', () => {
  const policy = readPolicy('execution.sessionMaxActions: 7\nbudgets: {maxMinutes: 3}');
  const { maxActions, maxMinutes, maxExtensions } = policy.budgets;
  assert.deepEqual([maxActions, maxMinutes, maxExtensions], [7, 3, 5]);
  const { faults } = checkPolicy('budgets: {maxActions: 3}\nexecution.sessionMaxActions: 7\n');
  assert.equal(faults[0]?.line, 2);
  assert.equal(checkPolicy('execution.sessionMaxActions: many').faults[0]?.line, 1);
});

test('the fleet’s defaults fill what a policy does not write', () => {
  const bounds = { maxActions: 20, maxExtensions: 0 };
  const { maxActions, maxMinutes, maxExtensions } = readPolicy('budgets: {maxActions: 9}', bounds).budgets;
  assert.deepEqual([maxActions, maxMinutes, maxExtensions], [9, 45, 0]);
  assert.equal(readPolicy('', bounds).budgets.maxActions, 20);
  assert.throws(() => readPolicy('budgets: 3', bounds));
});
