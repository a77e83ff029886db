import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { request } from 'undici';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { createObjectStore } from '../../adapters/s3/object-store.ts';
import { createTestRecord } from '../../testing/traffic/record.ts';
import type { TestRecord } from '../../testing/traffic/record.ts';
import { openTestSession } from '../../testing/traffic/session.ts';
import { cephStore, embeddedStore, noCeph } from '../../testing/traffic/stores.ts';
import { objectKey } from '../ports/object-store.ts';
import { announceUpload } from './announce-upload.ts';
import { completeUpload } from './complete-upload.ts';
import { incomingKey } from './upload-row.ts';

for (const { name, storeOf, skip } of [
  { name: 'the embedded store', storeOf: embeddedStore, skip: false },
  { name: 'a Ceph gateway', storeOf: cephStore, skip: noCeph },
])
  describe(`uploads to ${name}`, { skip }, () => {
    let record: TestRecord;
    before(async () => {
      record = await createTestRecord({ store: storeOf() });
      await openTestSession(record);
    });
    after(() => record.close());

    const contentOf = (bytes: Buffer) => ({
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: bytes.byteLength,
    });
    const announce = (bytes: Buffer, owner = 'ada') =>
      announceUpload(record, 'local', owner, contentOf(bytes));
    const send = async (
      put: { url: string; headers: Readonly<Record<string, string>> } | null,
      body: Buffer,
    ) => {
      assert.ok(put);
      return fetch(put.url, { method: 'PUT', body: new Uint8Array(body), headers: put.headers });
    };

    test('announced, sent, verified, found at its content address; the second time nothing is sent', async () => {
      const bytes = randomBytes(3_000_000);
      const { sha256 } = contentOf(bytes);
      const first = await announce(bytes);
      await assert.rejects(completeUpload(record, first.uploadId, 'ada'), { code: 'conflict' });
      assert.equal((await send(first.put, bytes)).status, 200);
      await assert.rejects(completeUpload(record, first.uploadId, 'eve'), { code: 'not_found' });
      assert.deepEqual(await completeUpload(record, first.uploadId, 'ada'), { sha256 });
      assert.deepEqual(await completeUpload(record, first.uploadId, 'ada'), { sha256 });
      assert.equal(await record.objects.size(incomingKey({ id: first.uploadId, owner: 'ada' })), null);
      const read = await fetch(await record.objects.presignGet(objectKey('local', sha256), 60));
      assert.ok(bytes.equals(Buffer.from(await read.arrayBuffer())));
      const second = await announce(bytes, 'eve');
      assert.equal(second.put, null);
      assert.deepEqual(await completeUpload(record, second.uploadId, 'eve'), { sha256 });
    });

    test('what the sender called it is gone: no store serves it as a page', async () => {
      const bytes = Buffer.from('<script>alert(1)</script>');
      const { put, uploadId } = await announce(bytes);
      assert.ok(put);
      const headers = { ...put.headers, 'content-type': 'text/html', 'content-disposition': 'inline' };
      const sent = await fetch(put.url, { method: 'PUT', body: new Uint8Array(bytes), headers });
      assert.equal(sent.status, 200);
      const { sha256 } = await completeUpload(record, uploadId, 'ada');
      const read = await fetch(await record.objects.presignGet(objectKey('local', sha256), 60));
      assert.equal(await read.text(), bytes.toString());
      assert.equal(read.headers.get('content-type'), 'application/octet-stream');
      assert.equal(read.headers.get('content-disposition'), null);
    });

    test('other bytes than the announced ones are removed and never get the address', async () => {
      const bytes = randomBytes(1000);
      for (const wrong of [randomBytes(1000), bytes.subarray(0, 999), Buffer.concat([bytes, bytes])]) {
        const upload = await announce(bytes);
        // Past the checks of the store, as a store without signatures would let it.
        await record.objects.put(incomingKey({ id: upload.uploadId, owner: 'ada' }), wrong);
        await assert.rejects(completeUpload(record, upload.uploadId, 'ada'), { code: 'digest_mismatch' });
        await assert.rejects(completeUpload(record, upload.uploadId, 'ada'), { code: 'digest_mismatch' });
        assert.equal(await record.objects.size(incomingKey({ id: upload.uploadId, owner: 'ada' })), null);
      }
      assert.equal(await record.objects.size(objectKey('local', contentOf(bytes).sha256)), null);
    });

    // The embedded store checks no signatures. No store's checks are relied upon: what came is read before it is named.
    if (storeOf === cephStore)
      test('another length, or another checksum than the signed one, is refused by the store itself', async () => {
        const bytes = randomBytes(1000);
        const { put } = await announce(bytes);
        assert.ok(put);
        const sent = (body: Buffer, headers: Record<string, string> = {}) =>
          request(put.url, { method: 'PUT', body, headers: { ...put.headers, ...headers } });
        for (const [body, headers] of [
          [randomBytes(10), { 'content-length': '10' }],
          [randomBytes(2000), { 'content-length': '2000' }],
          [bytes, { 'x-amz-checksum-sha256': Buffer.alloc(32).toString('base64') }],
        ] as const) {
          const answer = await sent(body, headers);
          await answer.body.dump();
          assert.equal(answer.statusCode, 403, JSON.stringify(headers));
        }
        const answer = await sent(bytes);
        await answer.body.dump();
        assert.equal(answer.statusCode, 200);
      });

    test('length and checksum are signed headers of the address', async () => {
      const { put } = await announce(randomBytes(10));
      const signed = new URL(put?.url ?? '').searchParams.get('X-Amz-SignedHeaders');
      assert.equal(signed, 'content-length;host;x-amz-checksum-sha256');
      assert.deepEqual(Object.keys(put?.headers ?? {}).sort(), ['content-length', 'x-amz-checksum-sha256']);
    });

    test('an unknown project is refused and a store that is away is a coded error in bounded time', async () => {
      await assert.rejects(announceUpload(record, 'nowhere', 'ada', contentOf(Buffer.from('x'))), {
        code: 'project_unknown',
      });
      const away = createObjectStore({
        endpoint: 'http://127.0.0.1:9',
        bucket: 'b',
        region: 'us-east-1',
        accessKeyId: 'a',
        secretAccessKey: secret('s'),
      });
      await assert.rejects(away.put('projects/k', Buffer.from('x')), { code: 'storage_failed' });
      await assert.rejects(away.get('k'), { code: 'storage_failed' });
      await assert.rejects(away.prepare(), { code: 'storage_failed' });
      away.close();
    });
  });
