import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The system user that the embedded databases run as when the fleet is started by root. */
export interface UnprivilegedUser {
  readonly uid: number;
  readonly gid: number;
}

const userName = 'lemniscate';

/**
 * Finds or makes the system user `lemniscate`; undefined when we are not root and need none. Postgres refuses to run
 * as root, and initdb wants a user that /etc/passwd knows.
 */
export function unprivilegedUser(): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const known = findUser();
  if (known !== undefined) return known;
  execFileSync(
    'useradd',
    ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', userName],
    { stdio: ['ignore', 'ignore', 'pipe'], timeout: 30_000 },
  );
  const made = findUser();
  if (made === undefined)
    throw new Error(`useradd made the user ${userName}, and /etc/passwd does not have it.`);
  return made;
}

function findUser(): UnprivilegedUser | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${userName}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
