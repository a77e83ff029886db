import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'ldapts';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { within } from './within.ts';

/** A reason to skip where this machine has no slapd, else false. */
export const noSlapd = existsSync('/usr/sbin/slapd') ? false : 'slapd: the package slapd is not installed';

export const directory = {
  bindDn: 'cn=admin,dc=example,dc=org',
  password: 'test-admin',
  userBase: 'ou=people,dc=example,dc=org',
  groupBase: 'ou=groups,dc=example,dc=org',
} as const;

/** A real OpenLDAP server with the given entries. */
export interface TestDirectory {
  readonly url: string;
  stop(): Promise<void>;
}

const base = `dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups
`;

export async function startTestDirectory(ldif: string): Promise<TestDirectory> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-slapd-'));
  await mkdir(join(folder, 'db'));
  const schema = (name: string): string => `include /etc/ldap/schema/${name}.schema`;
  const file = join(folder, 'slapd.conf');
  await writeFile(
    file,
    [
      ...['core', 'cosine', 'inetorgperson'].map(schema),
      `pidfile ${join(folder, 'slapd.pid')}`,
      'modulepath /usr/lib/ldap',
      'moduleload back_mdb',
      'database mdb',
      'suffix "dc=example,dc=org"',
      `rootdn "${directory.bindDn}"`,
      `rootpw ${directory.password}`,
      `directory ${join(folder, 'db')}`,
      'access to * by * none',
    ].join('\n'),
  );
  await chmod(file, 0o600);
  const entries = join(folder, 'entries.ldif');
  await writeFile(entries, `${base}\n${ldif}`);
  const added = spawnSync('/usr/sbin/slapadd', ['-f', file, '-l', entries], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  if (added.status !== 0) throw new Error(`slapadd: ${added.stderr}`);
  const url = `ldap://127.0.0.1:${await freePort()}`;
  const child = spawn('/usr/sbin/slapd', ['-f', file, '-h', url, '-d', '0'], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await within(30_000, 'slapd answers', async () => {
    const client = new Client({ url, connectTimeout: 500, timeout: 500 });
    return client.bind(directory.bindDn, directory.password).then(
      () => client.unbind().then(() => true),
      () => false,
    );
  });
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
