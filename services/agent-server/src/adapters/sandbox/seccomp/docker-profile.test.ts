import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dockerSeccompProfile } from './docker-profile.ts';

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly { index: number; op: string; value: number; valueTwo: number }[];
}

/** Whether any allowing rule matches one argument of a call. */
function allows(rules: readonly Rule[], name: string, value: bigint): boolean {
  return rules
    .filter((rule) => rule.action === 'SCMP_ACT_ALLOW' && rule.names.includes(name))
    .some(({ args }) =>
      (args ?? []).every(({ value: mask, valueTwo }) => (value & BigInt(mask)) === BigInt(valueTwo)),
    );
}

it('the engine’s document says what the filter says', () => {
  const { syscalls } = JSON.parse(dockerSeccompProfile()) as { syscalls: Rule[] };
  const ioctl = (request: bigint): boolean => allows(syscalls, 'ioctl', request);
  assert.ok(!ioctl(0x5412n) && !ioctl(0x541cn));
  assert.ok(!ioctl(0xdead_0000_5412n), 'upper bits, which the kernel ignores, change nothing');
  for (let request = 0x5300n; request < 0x5500n; request += 1n)
    assert.equal(ioctl(request), request !== 0x5412n && request !== 0x541cn, String(request));
  for (let bit = 0n; bit < 32n; bit += 1n) assert.ok(ioctl(0x5412n ^ (1n << bit)));
  assert.ok(allows(syscalls, 'clone', 17n) && !allows(syscalls, 'clone', 0x10000011n));
  assert.ok(allows(syscalls, 'socket', 2n) && !allows(syscalls, 'socket', 40n));
  assert.ok(allows(syscalls, 'read', 0n) && !allows(syscalls, 'mount', 0n));
});
