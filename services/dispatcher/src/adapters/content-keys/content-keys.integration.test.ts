import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ContentKeys } from '../../application/ports/content-keys.ts';
import { createKeyFile } from './key-file.ts';
import { createKmsKeys } from './kms.ts';

/** What every master key must do. */
async function contract(keys: ContentKeys): Promise<void> {
  const key = randomBytes(32);
  const wrapped = await keys.wrap(key);
  assert.ok(!Buffer.from(wrapped).includes(key));
  assert.notDeepEqual(await keys.wrap(key), wrapped);
  assert.deepEqual(Buffer.from(await keys.unwrap(wrapped, keys.name)), key);
  const broken = Buffer.from(wrapped);
  broken.writeUInt8(broken.readUInt8(broken.length - 1) ^ 1, broken.length - 1);
  await assert.rejects(keys.unwrap(broken, keys.name), { code: 'storage_failed' });
}

function keyFile(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'content-key-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'key'), content);
  return join(folder, 'key');
}

test('a key file wraps and opens; another file’s key opens nothing', async (t) => {
  const one = createKeyFile(keyFile(t, randomBytes(32).toString('base64')));
  const other = createKeyFile(keyFile(t, randomBytes(32).toString('base64')));
  await contract(one);
  const wrapped = await one.wrap(randomBytes(32));
  await assert.rejects(other.unwrap(wrapped, one.name), { code: 'storage_failed' });
  await assert.rejects(other.unwrap(wrapped, other.name), { code: 'storage_failed' });
});

test('a key is changed by a line above it: the new one wraps, both open, and one taken out opens nothing', async (t) => {
  const [old, next] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const before = createKeyFile(keyFile(t, `${old}\n`));
  const prepared = createKeyFile(keyFile(t, `${old}\n${next}\n`));
  const changed = createKeyFile(keyFile(t, `${next}\n${old}\n`));
  const after = createKeyFile(keyFile(t, next));
  await contract(changed);
  const plain = randomBytes(32);
  const byOld = await before.wrap(plain);
  const byNext = await changed.wrap(plain);
  assert.equal(prepared.name, before.name);
  assert.notEqual(changed.name, before.name);
  assert.deepEqual(Buffer.from(await changed.unwrap(byOld, before.name)), plain);
  // a dispatcher that restarts later must open what an earlier one has wrapped already
  assert.deepEqual(Buffer.from(await prepared.unwrap(byNext, changed.name)), plain);
  await assert.rejects(after.unwrap(byOld, before.name), (error: Error) =>
    error.message.includes(before.name),
  );
  const many = Array.from({ length: 17 }, () => randomBytes(32).toString('base64')).join('\n');
  assert.throws(() => createKeyFile(keyFile(t, many)), { code: 'configuration_invalid' });
  assert.throws(() => createKeyFile(keyFile(t, `${next}\n\n${old}`)), /line 2/);
});

test('a file that is no key is refused with what to do, and its content is not told', (t) => {
  for (const content of ['', 'too short', randomBytes(31).toString('base64'), `planted-${'x'.repeat(36)}`])
    assert.throws(
      () => createKeyFile(keyFile(t, content)),
      (error: Error) => error.message.includes('openssl rand') && !error.message.includes('planted'),
    );
  assert.throws(() => createKeyFile('/none/key'), { code: 'configuration_invalid' });
});

/** KMS as its public API reference has Encrypt and Decrypt: JSON 1.1, blobs in base64, one context for both. */
async function fakeKms(t: TestContext): Promise<string> {
  const kept = new Map<string, { plain: string; context: string }>();
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
      const asked = JSON.parse(text) as Record<string, unknown>;
      const context = JSON.stringify(asked['EncryptionContext']);
      const answer = (status: number, body: unknown): void =>
        void response
          .writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
          .end(JSON.stringify(body));
      if (request.headers['x-amz-target'] === 'TrentService.Encrypt') {
        const blob = randomBytes(64).toString('base64');
        kept.set(blob, { plain: String(asked['Plaintext']), context });
        return answer(200, { CiphertextBlob: blob, KeyId: asked['KeyId'] });
      }
      const found = kept.get(String(asked['CiphertextBlob']));
      if (found?.context !== context) return answer(400, { __type: 'InvalidCiphertextException' });
      return answer(200, { Plaintext: found.plain, KeyId: asked['KeyId'] });
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('AWS KMS wraps and opens, and what it refuses is told', async (t) => {
  const before = { ...process.env };
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' });
  t.after(() => {
    process.env = before;
  });
  await contract(createKmsKeys({ keyId: 'alias/audit', region: 'us-east-1', endpoint: await fakeKms(t) }));
});
