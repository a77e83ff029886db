import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestAuthority } from '../../testing/certificates.ts';
import { checkFetchFiles } from './fetch-files.ts';
import type { FetchFiles } from './fetch-files.ts';

test('each file that fetching cannot use is named with its variable', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-fetch-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { caFile } = await createTestAuthority(folder);
  const known = join(folder, 'known_hosts');
  const cut = join(folder, 'cut.pem');
  writeFileSync(known, 'git.example ssh-ed25519 AAAA\n');
  const pem = readFileSync(caFile, 'utf8');
  writeFileSync(cut, `${pem}${pem.replace(/\n.{40}/, '\n')}`);

  await checkFetchFiles({});
  await checkFetchFiles({ sshKey: known, knownHosts: known, authorityFile: caFile });
  const wrong: [FetchFiles, RegExp][] = [
    [{ sshKey: '/absent/key' }, /LEMNISCATE_FETCH_SSH_KEY: the file \/absent\/key cannot be read \(ENOENT\)/],
    [{ knownHosts: folder }, /LEMNISCATE_FETCH_SSH_KNOWN_HOSTS.*EISDIR/],
    [{ authorityFile: '/absent.pem' }, /LEMNISCATE_FETCH_CA.*\/absent\.pem.*ENOENT/],
    [{ authorityFile: known }, /LEMNISCATE_FETCH_CA.*known_hosts holds no PEM certificate/],
    [{ authorityFile: cut }, /LEMNISCATE_FETCH_CA.*cut\.pem holds a certificate that cannot be read/],
  ];
  for (const [files, message] of wrong)
    await assert.rejects(checkFetchFiles(files), { code: 'configuration_invalid', message });
});
