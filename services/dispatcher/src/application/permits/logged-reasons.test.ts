import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateToolCall } from '@lemniscate/shared/policy/evaluate.ts';
import { readPolicy } from '@lemniscate/shared/policy/policy-file.ts';
import { loggedReasons } from './logged-reasons.ts';

const policy = readPolicy('tools: {run_command: allow, write_file: allow}\nflaggedPaths: [infra/**]');
const quoted: readonly (readonly [command: string, logged: string])[] = [
  ['mv x /dev/PLANTEDdeviceMARKER', 'refuse: writes directly under /dev/'],
  ['rm -rf ~/PLANTEDhomeMARKER/..', 'refuse: deletes a home directory'],
  ['del /s /q C:\\Windows\\PLANTEDwindowsMARKER', 'refuse: deletes a system directory'],
  ['dd if=a of=/dev/PLANTEDdiskMARKER', 'refuse: writes directly under /dev/'],
  [
    'GIT_CONFIG_PLANTEDnameMARKER=x git status',
    'ask: sets a variable, which can make commands run something else',
  ],
  ['BASH_FUNC_PLANTEDnameMARKER=x ls', 'ask: sets a variable, which can make commands run something else'],
];

test('the log has the reason of a verdict and not the words of the command', () => {
  for (const [command, logged] of quoted) {
    const { reasons } = evaluateToolCall(policy, { tool: 'run_command', arguments: { command } });
    // whoever approves reads them
    assert.match(reasons.join(), /PLANTED\w+MARKER/, command);
    const told = loggedReasons(reasons, policy.flaggedPaths);
    assert.ok(told.includes(logged), `${command}: ${told.join('; ')}`);
    assert.doesNotMatch(told.join(), /PLANTED/, command);
  }
});

test('what a parser has met and what failed is not quoted', () => {
  assert.deepEqual(
    loggedReasons(
      [
        'disabled: cannot be parsed at character 7: unexpected PLANTED',
        'the evaluation of run_command failed: PLANTED',
        'refuse: deletes a system directory (/etc (PLANTED))',
        'refuse: deletes a system directory (/usr)',
      ],
      [],
    ),
    [
      'disabled: cannot be parsed at character 7',
      'the evaluation of run_command failed',
      'refuse: deletes a system directory',
    ],
  );
});

test('a pattern of the policy is the policy’s own word', () => {
  const write = { tool: 'run_command', arguments: { command: 'echo x > infra/main.tf' } };
  const { reasons } = evaluateToolCall(policy, write);
  assert.deepEqual(loggedReasons(reasons, policy.flaggedPaths), reasons);
  assert.match(reasons.join(), /infra\/\*\*/);
  const plain = [
    "the policy's value for run_command is allowedWithPermission",
    '2 people have to approve this',
  ];
  assert.deepEqual(loggedReasons(plain, policy.flaggedPaths), plain);
});
