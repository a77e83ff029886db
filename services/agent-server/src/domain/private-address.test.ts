import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPrivateAddress } from './private-address.ts';

const privates =
  `127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 100.64.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1
  198.18.0.1 224.0.0.1 255.255.255.255 ::1 :: fe80::1 fd00:ec2::254 ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1
  2002:7f00:1:: localhost 1.2.3`.split(/\s+/);
const publics =
  `1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 2606:4700::1111 2a00::1`.split(
    /\s+/,
  );

test('private and public addresses are told apart', () => {
  assert.deepEqual(
    privates.filter((address) => !isPrivateAddress(address)),
    [],
  );
  assert.deepEqual(publics.filter(isPrivateAddress), []);
});
