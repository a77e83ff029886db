import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestAuthority } from '../testing/certificates.ts';
import { readTlsMaterial } from './tls-material.ts';

const uri = 'spiffe://lemniscate/agent-server/one';

test('each wrong file is named with what is wrong about it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-tls-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority(folder);
  const other = await createTestAuthority(folder, 'other');
  const good = await authority.issue('good', uri);
  const expired = await authority.issue('expired', uri, new Date(Date.now() - 1000));
  const dispatcher = await authority.issue('dispatcher', 'spiffe://lemniscate/dispatcher/one');
  const stranger = await authority.issue('stranger', 'https://example.test/agent-server/one');
  const foreign = await other.issue('foreign', uri);
  const text = join(folder, 'text.pem');
  writeFileSync(text, 'not a certificate');
  const files = { ca: authority.caFile, cert: good.certFile, key: good.keyFile };
  const read = (change: Partial<typeof files>) => readTlsMaterial({ ...files, ...change }, new Date());

  assert.equal(read({}).name, 'one');
  const twice = join(folder, 'twice.pem');
  writeFileSync(twice, `${readFileSync(authority.caFile, 'utf8')}\n`.repeat(2));
  const cases: [Partial<typeof files>, string, RegExp][] = [
    [{ cert: '/absent.pem' }, 'configuration_invalid', /LEMNISCATE_TLS_CERT.*\/absent\.pem.*ENOENT/],
    [{ ca: text }, 'configuration_invalid', /LEMNISCATE_TLS_CA.*text\.pem/],
    [{ ca: twice }, 'configuration_invalid', /twice\.pem holds two authorities named/],
    [{ key: text }, 'configuration_invalid', /LEMNISCATE_TLS_KEY.*text\.pem/],
    [{ cert: expired.certFile, key: expired.keyFile }, 'certificate_expired', /expired\.pem.*expired at/],
    [{ key: dispatcher.keyFile }, 'key_mismatch', /dispatcher\.key\.pem.*good\.pem/],
    [
      { cert: foreign.certFile, key: foreign.keyFile },
      'certificate_refused',
      /foreign\.pem was not signed by/,
    ],
    [{ cert: dispatcher.certFile, key: dispatcher.keyFile }, 'certificate_refused', /names no agent server/],
    [{ cert: stranger.certFile, key: stranger.keyFile }, 'certificate_refused', /names no agent server/],
  ];
  for (const [change, code, message] of cases) {
    assert.throws(
      () => read(change),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});
