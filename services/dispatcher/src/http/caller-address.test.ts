import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callerAddress } from './caller-address.ts';

test('addresses of one network of 64 bits are one caller, and no others are', () => {
  const of = (ip: string) => callerAddress({ ip });
  assert.equal(of('203.0.113.9'), '203.0.113.9');
  assert.equal(of('::ffff:203.0.113.9'), '203.0.113.9');
  const home = of('2001:db8:1:2::1');
  assert.equal(home, '2001:db8:1:2::/64');
  for (const same of ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:0001:0002::', '2001:db8:1:2:0:1::'])
    assert.equal(of(same), home, same);
  for (const other of ['2001:db8:1:3::1', '2001:db8:1::2', '2001:db8::1:2:0:0:0', '::1', 'fe80::1%eth0'])
    assert.notEqual(of(other), home, other);
  assert.equal(of('::1'), '0:0:0:0::/64');
});
