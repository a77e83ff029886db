import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositorySourceSchema } from './source.ts';

const isTaken = (url: string): boolean => repositorySourceSchema.safeParse({ kind: 'git', url }).success;

test('an address with a secret in it is refused, since it would be shown and logged', () => {
  for (const url of [
    'https://user:password@example.com/r',
    'https://ghp_token@example.com/r',
    'https://:password@example.com/r',
    'ssh://git:password@example.com/r',
  ])
    assert.ok(!isTaken(url), url);
});

test('a user name over ssh is no secret', () => {
  for (const url of ['https://example.com/r', 'ssh://git@example.com/r', 'git@example.com:r'])
    assert.ok(isTaken(url), url);
});
