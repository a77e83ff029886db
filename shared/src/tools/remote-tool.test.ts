import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelToolName, remoteToolDigest, splitRemoteToolName } from './remote-tool.ts';

test('names go to the model in its own alphabet, and two tools never under one name', () => {
  assert.equal(modelToolName('tracker/get_issue'), 'mcp__tracker__get_issue');
  const names = ['a/x.y', 'a/x_y', 'a/x-y', `a/${'l'.repeat(89)}1`, `a/${'l'.repeat(89)}2`].map(
    modelToolName,
  );
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
});

test('what is no remote tool has no parts', () => {
  assert.deepEqual(splitRemoteToolName('tracker/get_issue'), { server: 'tracker', tool: 'get_issue' });
  for (const name of ['read_file', 'Tracker/x', 'a/b/c', '/x', 'a/', 'a/x y', `a/${'x'.repeat(91)}`])
    assert.equal(splitRemoteToolName(name), null, name);
});

test('a digest changes with every part of a definition and not with the order of members', () => {
  const definition = { name: 'x', description: 'd', inputSchema: { type: 'object', properties: { a: {} } } };
  const digest = remoteToolDigest(definition);
  const turned = { properties: { a: {} }, type: 'object' };
  assert.equal(remoteToolDigest({ ...definition, inputSchema: turned }), digest);
  assert.notEqual(remoteToolDigest({ ...definition, description: 'd ' }), digest);
  assert.notEqual(remoteToolDigest({ ...definition, inputSchema: { type: 'object' } }), digest);
});
