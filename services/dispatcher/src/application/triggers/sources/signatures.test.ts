import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createHookSchema } from '@lemniscate/shared/api/trigger.ts';
import { fromGitlab } from '../../../testing/signed-webhooks.ts';
import { gitlab } from './gitlab.ts';
import { sameSecret } from './signatures.ts';

const at = new Date('2026-11-30T12:00:00Z');
const taken = (secret: string, delivery = fromGitlab({ a: 1 }, { secret, id: 'one', at })): boolean =>
  gitlab.verify(delivery, secret, at).ok;
const accepted = (secret: string): boolean =>
  createHookSchema.safeParse({ project: 'lab', source: 'gitlab', definition: { name: 'h' }, secret }).success;

test('a signing token is a key, and what base64 cannot read is none', () => {
  const token = `whsec_${randomBytes(24).toString('base64')}`;
  assert.ok(accepted(token) && taken(token));
  assert.ok(accepted('an-ordinary-secret') && taken('an-ordinary-secret'));
  // both read as a key that anybody has: nothing at all, and three bytes
  for (const weak of ['whsec_!!!!!!!!!!!!!!!!', 'whsec_AAAA!!!!!!!!!!!!']) {
    const forged = fromGitlab({ a: 1 }, { secret: weak, id: 'one', at });
    const key = Buffer.from(weak.slice('whsec_'.length), 'base64');
    const signature = createHmac('sha256', key)
      .update(`one.${at.getTime() / 1_000}.`)
      .update(forged.body)
      .digest('base64');
    assert.equal(forged.headers['webhook-signature'], `v1,${signature}`, 'whoever knows the key signs so');
    assert.equal(taken(weak, forged), false, weak);
    assert.equal(accepted(weak), false, weak);
  }
});

test('what was not sent is no secret, also where none is expected', () => {
  assert.ok(sameSecret('a', 'a'));
  for (const [sent, expected] of [
    ['', ''],
    ['', 'a'],
    ['a', ''],
    ['a', 'b'],
    ['a', 'aa'],
  ] as const)
    assert.equal(sameSecret(sent, expected), false);
  assert.equal(taken('', { headers: {}, body: Buffer.from('{}') }), false);
});
