import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { embeddedStore } from '../../testing/traffic/stores.ts';
import type { EncryptionOptions } from '@lemniscate/shared/storage/bucket-encryption.ts';
import { createObjectStore } from './object-store.ts';

const open = (endpoint: string, more: EncryptionOptions, keys = { accessKeyId: 'a', secretAccessKey: 's' }) =>
  createObjectStore({
    endpoint,
    bucket: `encryption-${randomBytes(6).toString('hex')}`,
    region: 'us-east-1',
    accessKeyId: keys.accessKeyId,
    secretAccessKey: secret(keys.secretAccessKey),
    ...more,
  });

test('a server that does not encrypt is refused at the start where it is asked to, and told where it is not', async () => {
  const { endpoint, ...keys } = embeddedStore();
  const asked = open(endpoint, { encryption: 'AES256' }, keys);
  await assert.rejects(asked.prepare(), { code: 'storage_failed', message: /S3_ENCRYPTION asks for AES256/ });
  await assert.rejects(asked.put('projects/a', Buffer.from('x')), { code: 'storage_failed' });
  asked.close();
  const unasked = open(endpoint, {}, keys);
  assert.equal(await unasked.prepare(), null);
  unasked.close();
});

/**
 * No S3 server that runs here encrypts, so this one only says that it does, as AWS's reference has it, and keeps what it was
 * asked for.
 */
async function startEncrypting(t: TestContext): Promise<{ url: string; asked: IncomingHttpHeaders[] }> {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.method === 'PUT' && (request.url ?? '').split('/').length > 2) asked.push(request.headers);
      const how = request.headers['x-amz-server-side-encryption'];
      if (typeof how === 'string') response.setHeader('x-amz-server-side-encryption', how);
      response.setHeader('etag', '"e"');
      const isCopy = request.headers['x-amz-copy-source'] !== undefined;
      const copied = '<?xml version="1.0"?><CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>';
      response.end(isCopy ? copied : request.method === 'GET' ? 'words' : '');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test('every write asks for the encryption, the one that others send too, and is held to it', async (t) => {
  const { url, asked } = await startEncrypting(t);
  const objects = open(url, { encryption: 'aws:kms', encryptionKey: 'arn:aws:kms:eu-west-1:1:key/k' });
  assert.equal(await objects.prepare(), 'aws:kms');
  await objects.put('projects/a', Buffer.from('words'));
  const content = { sha256: createHash('sha256').update('words').digest('hex'), bytes: 5 };
  const put = await objects.presignPut('incoming/a', content, 60);
  assert.match(put.url, /x-amz-server-side-encryption/, 'the header is part of the signature');
  const { 'content-length': _, ...headers } = put.headers;
  await fetch(put.url, { method: 'PUT', body: 'words', headers });
  assert.equal(await objects.adopt('incoming/a', 'projects/b', content), 'adopted');
  assert.equal(asked.length, 4);
  for (const sent of asked) {
    assert.equal(sent['x-amz-server-side-encryption'], 'aws:kms');
    assert.equal(sent['x-amz-server-side-encryption-aws-kms-key-id'], 'arn:aws:kms:eu-west-1:1:key/k');
  }
  objects.close();
});
