import assert from 'node:assert/strict';
import { test } from 'node:test';
import { egressAllowed, parseEgressRule } from './egress.ts';
import { checkPolicy } from './policy-file.ts';

test('rules are names with a port; addresses, schemes, paths and single labels are none', () => {
  assert.deepEqual(parseEgressRule('registry.npmjs.org'), {
    host: 'registry.npmjs.org',
    below: false,
    port: 443,
  });
  assert.deepEqual(parseEgressRule('*.PyPI.org:8443'), { host: 'pypi.org', below: true, port: 8443 });
  for (const wrong of [
    'https://a.example',
    'a.example/x',
    '10.0.0.1',
    'localhost',
    '*',
    '*.com',
    'a.example:0',
    'a.example:70000',
    'a b.example',
    '-a.example',
    '',
  ])
    assert.equal(parseEgressRule(wrong), null, wrong);
});

test('nothing leaves without a rule, and a rule covers exactly its host and port', () => {
  const rules = ['registry.npmjs.org', '*.pypi.org', 'git.example.com:8443'];
  for (const [host, port, allowed] of [
    ['registry.npmjs.org', 443, true],
    ['REGISTRY.npmjs.org.', 443, true],
    ['registry.npmjs.org', 80, false],
    ['evil-registry.npmjs.org', 443, false],
    ['registry.npmjs.org.evil.example', 443, false],
    ['files.pypi.org', 443, true],
    ['pypi.org', 443, false],
    ['evilpypi.org', 443, false],
    ['git.example.com', 8443, true],
    ['git.example.com', 443, false],
  ] as const)
    assert.equal(egressAllowed(rules, host, port), allowed, `${host}:${port}`);
  assert.equal(egressAllowed(undefined, 'registry.npmjs.org', 443), false);
  assert.equal(egressAllowed([], 'registry.npmjs.org', 443), false);
});

test('a policy with a wrong rule, provider tool, MCP server or profile is refused with its line', () => {
  const text = [
    'egress:',
    '  - registry.npmjs.org',
    '  - https://evil.example/x',
    'providerTools: [web_search, everything]',
    'mcpServers: [1]',
    'sandboxProfile: {}',
    'egres: []',
    '',
  ].join('\n');
  const { policy, faults } = checkPolicy(text);
  assert.equal(policy, undefined);
  assert.deepEqual(
    faults.map(({ line, path }) => `${line} ${path}`).sort(),
    ['3 egress.1', '4 providerTools.1', '5 mcpServers.0', '6 sandboxProfile', '7 egres'].sort(),
  );
});
