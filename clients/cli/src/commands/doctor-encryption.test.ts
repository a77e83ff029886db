import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { checkEncryption } from './doctor-encryption.ts';

function dataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What the machine's programs say, by name; one that is not named is not there. */
async function look(
  folder: string,
  said: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = 'linux',
) {
  const asked: string[] = [];
  const findings = await checkEncryption({
    env: { LEMNISCATE_DATA: folder },
    now: () => 0,
    platform,
    output: (program, args) => {
      asked.push([program, ...args].join(' '));
      const answer = said[program];
      return answer === undefined
        ? Promise.reject(new Error(`spawn ${program} ENOENT`))
        : Promise.resolve(answer);
    },
  });
  return { asked, states: findings.map(({ state }) => state), found: findings[0]?.found ?? '' };
}

test('the doctor tells an encrypted disk from one that is not, by every layer below it', async (t) => {
  const folder = dataFolder(t);
  const cases: readonly [said: Readonly<Record<string, string>>, platform: NodeJS.Platform, state: string][] =
    [
      [{ findmnt: '/dev/mapper/vg-root ext4', lsblk: 'lvm\ncrypt\npart\ndisk' }, 'linux', 'ok'],
      [{ findmnt: '/dev/mapper/luks[/@home] btrfs', lsblk: 'crypt\ndisk' }, 'linux', 'ok'],
      [{ findmnt: '/dev/vda1 ext4', lsblk: 'part\ndisk' }, 'linux', 'warning'],
      [{ findmnt: 'tank/data zfs', zfs: 'aes-256-gcm' }, 'linux', 'ok'],
      [{ findmnt: 'tank/data zfs', zfs: 'off' }, 'linux', 'warning'],
      [{ fdesetup: 'FileVault is On.' }, 'darwin', 'ok'],
      [{ fdesetup: 'FileVault is Off.' }, 'darwin', 'warning'],
    ];
  for (const [said, platform, state] of cases)
    assert.deepEqual((await look(folder, said, platform)).states, [state], JSON.stringify(said));
  const { asked } = await look(folder, { findmnt: '/dev/mapper/luks[/@home] btrfs', lsblk: 'crypt' });
  assert.match(asked[1] ?? '', /^lsblk .* \/dev\/mapper\/luks$/);
});

test('where it cannot be told the doctor says so, and without a data folder there is nothing to tell', async (t) => {
  const folder = dataFolder(t);
  for (const said of [{}, { findmnt: 'overlay overlay' }]) {
    const { states, found } = await look(folder, said);
    assert.deepEqual(states, ['warning']);
    assert.match(found, /cannot be told here: spawn \w+ ENOENT/);
  }
  assert.deepEqual((await look(join(folder, 'none'), {})).states, []);
});
