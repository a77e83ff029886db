import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentKey } from './key.ts';
import type { EnvironmentParts } from './key.ts';

const parts: EnvironmentParts = {
  base: 'base',
  prepare: 'npm ci',
  variables: { A: '1' },
  inputs: [
    { path: 'package.json', sha256: 'a', executable: false },
    { path: 'package-lock.json', sha256: 'b', executable: false },
  ],
};

test('every part changes the key, the order of the files does not', () => {
  const key = environmentKey(parts);
  assert.equal(environmentKey({ ...parts, inputs: parts.inputs.toReversed() }), key);
  const [first, second] = parts.inputs;
  assert.ok(first && second);
  const others: EnvironmentParts[] = [
    { ...parts, base: 'other' },
    { ...parts, prepare: 'npm ci ' },
    { ...parts, variables: { A: '2' } },
    { ...parts, variables: {} },
    { ...parts, inputs: [first] },
    { ...parts, inputs: [first, { ...second, sha256: 'c' }] },
    { ...parts, inputs: [first, { ...second, path: 'x' }] },
    { ...parts, inputs: [first, { ...second, executable: true }] },
  ];
  assert.equal(new Set([key, ...others.map(environmentKey)]).size, others.length + 1);
});
