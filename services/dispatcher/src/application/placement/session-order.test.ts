import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orderedRepositorySchema } from '@lemniscate/shared/repository/source.ts';
import { orderRepository } from './session-order.ts';

const address = async (projectId: string, sha256: string) => `https://store.example/${projectId}/${sha256}`;
const bundle = { kind: 'bundle', sha256: 'a'.repeat(64), commit: 'b'.repeat(40), name: 'app' } as const;
const git = { kind: 'git', url: 'https://git.example/app.git' } as const;

test('a fetched repository is ordered with all that the policy says of it', async () => {
  const fetch = { depth: 5, partial: true, lfs: 'available' } as const;
  const ordered = await orderRepository('p', git, address, fetch);
  assert.deepEqual(ordered, { ...git, fetch });
  assert.deepEqual(orderedRepositorySchema.parse(ordered), ordered);
});

test('of a bundle nothing is fetched, but its large files are asked for', async () => {
  const ordered = await orderRepository('p', bundle, address, { depth: 5, lfs: 'required' });
  assert.deepEqual(ordered, {
    ...bundle,
    url: `https://store.example/p/${bundle.sha256}`,
    lfs: 'required',
  });
  assert.deepEqual(orderedRepositorySchema.parse(ordered), ordered);
});

test('without a word in the policy nothing is said', async () => {
  assert.deepEqual(await orderRepository('p', git, address, undefined), git);
});
