import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { cephStore, noCeph } from '../../testing/traffic/stores.ts';
import { createObjectStore } from './object-store.ts';

// The embedded store has no versions.
test('what is removed from a bucket with versioning leaves no version behind', { skip: noCeph }, async () => {
  const { endpoint, accessKeyId, secretAccessKey } = cephStore();
  const Bucket = `versions-${randomBytes(6).toString('hex')}`;
  const region = 'us-east-1';
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  const objects = createObjectStore({
    endpoint,
    bucket: Bucket,
    region,
    accessKeyId,
    secretAccessKey: secret(secretAccessKey),
  });
  const versions = async () => {
    const { Versions = [], DeleteMarkers = [] } = await client.send(
      new ListObjectVersionsCommand({ Bucket }),
    );
    return [...Versions, ...DeleteMarkers]
      .map(({ Key = '' }) => Key)
      .toSorted((one, other) => (one < other ? -1 : 1));
  };
  const set = (Status: 'Enabled' | 'Suspended') =>
    client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status } }));
  try {
    await client.send(new CreateBucketCommand({ Bucket }));
    await set('Enabled');
    for (const text of ['one', 'two']) await objects.put('projects/a', Buffer.from(text));
    await objects.put('projects/ab', Buffer.from('another'));
    assert.deepEqual(
      await versions(),
      ['projects/a', 'projects/a', 'projects/ab'],
      'the bucket keeps versions',
    );
    await objects.remove('projects/a');
    assert.deepEqual(await versions(), ['projects/ab']);
    await objects.remove('projects/a');
    assert.deepEqual(await versions(), ['projects/ab'], 'what is gone already leaves no marker');
    await objects.put('projects/a', Buffer.from('three'));
    await set('Suspended');
    await objects.remove('projects/a');
    assert.deepEqual(await versions(), ['projects/ab'], 'a bucket that kept versions before');
  } finally {
    objects.close();
    client.destroy();
  }
});
