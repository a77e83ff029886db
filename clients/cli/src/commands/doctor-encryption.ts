import { existsSync } from 'node:fs';
import { dataFolder } from '../endpoint.ts';
import type { DoctorDeps, Finding } from './doctor-finding.ts';

const check = 'encryption';

/**
 * Whether the disk below this machine's data folder is encrypted: record, working copies and snapshots of an embedded
 * fleet or a workstation lie there. A disk that a cloud or a storage system encrypts below the machine does not show.
 */
export async function checkEncryption({ env, output, platform }: DoctorDeps): Promise<Finding[]> {
  const folder = dataFolder(env);
  if (!existsSync(folder)) return [];
  const told = await cipherOf(folder, output, platform).then(
    (cipher) => ({ cipher, fault: null }),
    (error: unknown) => ({ cipher: null, fault: error instanceof Error ? error.message : String(error) }),
  );
  if (told.cipher !== null)
    return [{ check, state: 'ok', found: `what lies on disk is encrypted (${told.cipher})` }];
  return [
    {
      check,
      state: 'warning',
      found:
        told.fault === null
          ? `nothing shows that the disk of ${folder} is encrypted`
          : `whether the disk of ${folder} is encrypted cannot be told here: ${told.fault}`,
      advice: 'Put it on an encrypted volume (LUKS, FileVault, ZFS), unless the storage below encrypts it.',
    },
  ];
}

/** What encrypts the disk of a folder; null: nothing that this machine knows of. Rejects where it cannot be told. */
async function cipherOf(
  folder: string,
  output: DoctorDeps['output'],
  platform: DoctorDeps['platform'],
): Promise<string | null> {
  if (platform === 'darwin')
    return (await output('fdesetup', ['status'])).includes('FileVault is On') ? 'FileVault' : null;
  const [source = '', type = ''] = (
    await output('findmnt', ['--noheadings', '--output', 'SOURCE,FSTYPE', '--target', folder])
  ).split(/\s+/);
  if (type === 'zfs') {
    const cipher = await output('zfs', ['get', '-H', '-o', 'value', 'encryption', source]);
    return cipher === 'off' ? null : `ZFS, ${cipher}`;
  }
  if (type === 'ecryptfs') return 'eCryptfs';
  // a subvolume stands in brackets behind its device
  const device = source.replace(/\[.*$/, '');
  const below = await output('lsblk', ['--noheadings', '--inverse', '--output', 'TYPE', device]);
  return below.split(/\s+/).includes('crypt') ? 'dm-crypt' : null;
}
