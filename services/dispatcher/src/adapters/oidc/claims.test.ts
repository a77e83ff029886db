import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JWTPayload } from 'jose';
import { personOfClaims } from './claims.ts';

test('a person is read out of claims, and nothing that is no text gets through', () => {
  const person = personOfClaims(
    {
      sub: 'ada',
      name: 'Ada\nLovelace',
      preferred_username: 'ada',
      email: 'ada@example.org',
      roles: ['a', 7, 'a', 'b\0'],
    },
    'roles',
  );
  assert.deepEqual(person, { subject: 'ada', name: 'ada', email: 'ada@example.org', groups: ['a'] });
  assert.deepEqual(personOfClaims({ sub: 'ada', roles: 'one' }, 'roles').groups, ['one']);
  assert.equal(personOfClaims({ sub: 'ada', email: 'a@b.c', email_verified: false }, 'groups').email, null);
});

test('a subject that means something here, or that no line can show, is refused', () => {
  for (const sub of [
    undefined,
    '',
    'a\nb',
    'x'.repeat(257),
    'token:tok_1',
    'local:x',
    'spiffe://lemniscate/dispatcher/a',
    'agent:fixer',
    'person:0123456789abcdef01234567',
    'github:octo',
  ])
    assert.throws(
      () => personOfClaims({ sub } as JWTPayload, 'groups'),
      { code: 'login_failed' },
      String(sub),
    );
  assert.throws(
    () => personOfClaims({ sub: 'ada', groups: Array.from({ length: 1_001 }, (_, n) => `g${n}`) }, 'groups'),
    {
      code: 'login_failed',
    },
  );
});
