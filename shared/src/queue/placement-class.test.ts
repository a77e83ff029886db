import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offerTokens, placementClass } from './placement-class.ts';

const fits = (name: string, offer: Parameters<typeof offerTokens>[0]): boolean => {
  const [, ...wanted] = name.split(';');
  return wanted.every((token) => offerTokens(offer).includes(token));
};

test('a session whose policy names a profile goes to servers that offer it, and every server has the default', () => {
  const wanted = (profile?: string) => placementClass({ pool: 'default', runtime: 'native', profile });
  assert.equal(wanted(), 'default');
  assert.equal(wanted('default'), 'default');
  assert.ok(fits(wanted('gpu'), { profiles: ['default', 'gpu'] }));
  assert.ok(!fits(wanted('gpu'), { profiles: ['default'] }));
  assert.ok(!fits(wanted('x;label=trusted'), { profiles: ['x'], labels: ['trusted'] }));
});
