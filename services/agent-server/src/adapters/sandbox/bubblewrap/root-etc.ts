import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeCliSettings } from '../cli-bundle.ts';
import { writeShellStartup } from '../shell-startup.ts';
import { commandUid } from './users.ts';

const files: Readonly<Record<string, string>> = {
  passwd: [
    'root:x:0:0:supervisor:/:/usr/sbin/nologin',
    `agent:x:${commandUid}:${commandUid}:agent:/home/agent:/bin/bash`,
    'nobody:x:65534:65534:nobody:/:/usr/sbin/nologin',
    '',
  ].join('\n'),
  group: ['root:x:0:', `agent:x:${commandUid}:`, 'nogroup:x:65534:', ''].join('\n'),
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
  hostname: 'sandbox\n',
};

/**
 * The /etc of every bubblewrap sandbox: nothing of the host's but the linker's cache and, mounted later, the
 * alternatives that links under /usr/bin point to. Rewritten at each start of the server, since a package
 * installed meanwhile changes the cache.
 */
export async function prepareRootEtc(folder: string): Promise<void> {
  await mkdir(join(folder, 'alternatives'), { recursive: true, mode: 0o755 });
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { mode: 0o644 });
  await writeCliSettings(folder);
  await writeShellStartup(folder);
  if (existsSync('/etc/ld.so.cache')) await copyFile('/etc/ld.so.cache', join(folder, 'ld.so.cache'));
  await copyAuthorities(folder);
  const release = join(folder, 'os-release');
  await symlink('../usr/lib/os-release', release).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Public certificates of authorities, where programs of this and most systems look: for sandboxes with a way out. */
const authorities = '/etc/ssl/certs/ca-certificates.crt';

async function copyAuthorities(folder: string): Promise<void> {
  if (!existsSync(authorities)) return;
  await mkdir(join(folder, 'ssl', 'certs'), { recursive: true, mode: 0o755 });
  await copyFile(authorities, join(folder, 'ssl', 'certs', 'ca-certificates.crt'));
}
