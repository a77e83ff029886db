import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advertisedCommit, checkAddress, pinnedSsh } from './fetch-source.ts';

const hosts = (addresses: readonly string[], privateHosts: readonly string[] = []) => ({
  privateHosts,
  resolve: (host: string) => Promise.resolve(/^[\d.:a-f]+$/.test(host) ? [host] : addresses),
});
const check = (url: string, given: ReturnType<typeof hosts>) =>
  checkAddress({ kind: 'git', url }, { allowLocalPaths: false, hosts: given });

test('a repository inside the server’s networks is refused, by whatever name', async () => {
  const inside = [
    'https://127.0.0.1/r.git',
    'https://2130706433/r.git',
    'https://0x7f.1/r.git',
    'https://[::1]/r.git',
    'https://[::ffff:10.0.0.1]/r.git',
    'https://169.254.169.254/latest/meta-data',
    'ssh://git@10.0.0.5/r.git',
    'git@192.168.0.7:r.git',
  ];
  for (const url of inside)
    await assert.rejects(check(url, hosts([])), { code: 'repository_source_refused' }, url);
  const mixed = hosts(['93.184.216.34', '10.0.0.9']);
  await assert.rejects(check('https://rebinds.example/r.git', mixed), { code: 'repository_source_refused' });
});

test('a public host is pinned to the address that was looked at', async () => {
  const from = await check('https://git.example/r.git', hosts(['93.184.216.34']));
  assert.deepEqual(from.pinned, { host: 'git.example', address: '93.184.216.34' });
});

test('an operator names the hosts inside that may be fetched from', async () => {
  const from = await check('git@git.corp:r.git', hosts(['10.0.0.9'], ['git.corp']));
  assert.deepEqual(from.pinned, { host: 'git.corp', address: '10.0.0.9' });
  await assert.rejects(check('git@other.corp:r.git', hosts(['10.0.0.9'], ['git.corp'])), {
    code: 'repository_source_refused',
  });
});

test('ssh gets the server’s key and known hosts by reference, and the pinned address', async () => {
  const given = { ...hosts(['93.184.216.34']), ssh: { key: "/etc/it's/key", knownHosts: '/etc/known' } };
  const { GIT_SSH_COMMAND: command = '' } = pinnedSsh(await check('git@git.example:r.git', given));
  assert.match(command, /-oStrictHostKeyChecking=yes/);
  assert.match(command, /-oHostName=93\.184\.216\.34 -oHostKeyAlias=git\.example/);
  assert.ok(
    command.includes(`-oIdentitiesOnly=yes -i '/etc/it'\\''s/key' -oUserKnownHostsFile='/etc/known'`),
  );
});

test('a revision is found among what the remote has, as git itself would look', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40));
  const advertised = `${a}\tHEAD\n${a}\trefs/heads/main\n${b}\trefs/tags/v1\n${c}\trefs/tags/v1^{}\n`;
  assert.equal(advertisedCommit(advertised, 'HEAD'), a);
  assert.equal(advertisedCommit(advertised, 'main'), a);
  assert.equal(advertisedCommit(advertised, 'refs/heads/main'), a);
  assert.equal(advertisedCommit(advertised, 'v1'), c, 'of a tag object, the commit');
  assert.equal(advertisedCommit(advertised, 'other'), null);
});
