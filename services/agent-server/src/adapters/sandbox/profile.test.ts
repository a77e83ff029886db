import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkProfile } from './profile.ts';

const MiB = 1024 * 1024;
const profile = {
  name: 'p',
  memoryBytes: 512 * MiB,
  processes: 10,
  cpus: 0.5,
  tmpBytes: 64 * MiB,
  shmBytes: 16 * MiB,
  cpuSeconds: 60,
  diskBytes: 64 * MiB,
  diskFiles: 1000,
};

it('takes a profile that can work and says of another what is wrong with it', () => {
  checkProfile(profile);
  const refused = {
    memoryBytes: 64 * MiB,
    processes: 0,
    cpus: 0,
    tmpBytes: 512 * MiB,
    shmBytes: 512 * MiB,
    cpuSeconds: 0,
    diskBytes: 1 * MiB,
    diskFiles: 100_000_000,
  } as const;
  for (const [name, value] of Object.entries(refused))
    assert.throws(() => checkProfile({ ...profile, [name]: value }), {
      code: 'sandbox_start_failed',
      message: new RegExp(name),
    });
  assert.throws(() => checkProfile({ ...profile, memoryBytes: Number.NaN }));
});
