import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxCapabilities, SandboxDriver } from './ports/sandbox-driver.ts';
import { requireLimits } from './required-limits.ts';

const everything: SandboxCapabilities = {
  memoryLimit: true,
  processLimit: true,
  cpuLimit: true,
  diskLimit: true,
  seccomp: true,
  separateCommandUser: true,
};

const warned: string[] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_: unknown, message: string) => void warned.push(message),
  error: () => undefined,
};

const driverThatHolds = (found: Partial<SandboxCapabilities>) =>
  ({ name: 'bubblewrap', probe: async () => ({ ...everything, ...found }) }) as unknown as SandboxDriver;

test('a bound that cannot be held stops the start, by name and with what helps', async () => {
  await requireLimits(driverThatHolds({}), [], log);
  await assert.rejects(requireLimits(driverThatHolds({ diskLimit: false, cpuLimit: false }), ['cpu'], log), {
    code: 'sandbox_limit_missing',
    message: /cannot bound disk on .*mkfs\.ext4.*LEMNISCATE_WAIVE_LIMITS=cpu,disk/s,
  });
});

test('a waived bound is said at each start, and a waiver for what can be held takes nothing away', async () => {
  warned.length = 0;
  await requireLimits(driverThatHolds({ diskLimit: false }), ['disk', 'memory'], log);
  assert.match(warned.join(), /without these bounds/);
  warned.length = 0;
  const found = await requireLimits(driverThatHolds({}), ['disk', 'memory'], log);
  assert.deepEqual([found.diskLimit, warned], [true, []]);
});
