import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Files that say what a host has installed: its release, and its packages in the three usual families. */
const files = [
  '/usr/lib/os-release',
  '/var/lib/dpkg/status',
  '/usr/lib/sysimage/rpm/rpmdb.sqlite',
  '/var/lib/rpm/rpmdb.sqlite',
  '/lib/apk/db/installed',
];

/** Digest of the host's own system, which is what commands see under bubblewrap. */
export async function digestOfHost(): Promise<string> {
  const hash = createHash('sha256').update(process.arch);
  for (const file of files) {
    const content = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (content !== null) hash.update(file).update(content);
  }
  return `host:${hash.digest('hex')}`;
}
