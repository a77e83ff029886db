import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';

/**
 * The master key of the local fleet's credentials: made at the first start, the same ever after. Without it every
 * credential that was set is lost, so it lies where the database does.
 * @returns path of the 0600 file, 32 bytes in base64
 */
export function keptCredentialKey(data: DataFolder): string {
  const file = join(data.folder('secrets'), 'credential-key');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
  return file;
}
