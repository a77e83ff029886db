import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { DataFolder } from './data-folder.ts';

const validDays = 7;

/**
 * Writes the login of the person who started the fleet: a new token each start, good on the loopback address alone
 * and for a week at most. File shape: `{"token", "subject", "name", "expiresAt"}`, mode 0600.
 * @returns path of the file
 */
export function writeLocalLogin(data: DataFolder, now: Date): string {
  const file = data.path('login.json');
  const name = userInfo().username;
  const login = {
    token: `lem_local_${randomBytes(32).toString('base64url')}`,
    subject: `local:${name}`,
    name,
    expiresAt: new Date(now.getTime() + validDays * 24 * 60 * 60 * 1000).toISOString(),
  };
  rmSync(file, { force: true });
  writeFileSync(file, `${JSON.stringify(login)}\n`, { mode: 0o600, flag: 'wx' });
  return file;
}
