import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkProfile } from './profile.ts';

const MiB = 1024 * 1024;
const profile = { name: 'p', memoryBytes: 512 * MiB, processes: 10, cpus: 0.5, tmpBytes: 64 * MiB };

it('takes a profile that can work and says of another what is wrong with it', () => {
  checkProfile(profile);
  const refused = { memoryBytes: 64 * MiB, processes: 0, cpus: 0, tmpBytes: 512 * MiB } as const;
  for (const [name, value] of Object.entries(refused))
    assert.throws(() => checkProfile({ ...profile, [name]: value }), {
      code: 'sandbox_start_failed',
      message: new RegExp(name),
    });
  assert.throws(() => checkProfile({ ...profile, memoryBytes: Number.NaN }));
});
