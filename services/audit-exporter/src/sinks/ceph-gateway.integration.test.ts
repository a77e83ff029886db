import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectRetentionCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  PutObjectLockConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { checkpointId, checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { objectDigest, segmentManifestSchema } from '@lemniscate/shared/audit/segment-manifest.ts';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { createS3Sink } from './s3.ts';
import { sampleCheckpoints, sampleLog, sinkContract } from './sink-contract.ts';

// The S3 sink against a real Ceph RADOS Gateway, Object Lock and all.

const endpoint = process.env['LEMNISCATE_TEST_RGW_ENDPOINT'];
const noCeph = endpoint === undefined ? 'ceph: LEMNISCATE_TEST_RGW_ENDPOINT is not set' : false;
const keys = { accessKeyId: 'lemniscate-test', secretAccessKey: 'lemniscate-test-only' };

async function makePlace(lockDays?: number) {
  const bucket = `audit-${randomBytes(6).toString('hex')}`;
  const client = new S3Client({
    endpoint: endpoint ?? '',
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: keys,
  });
  const ObjectLockEnabledForBucket = lockDays !== undefined;
  await client.send(new CreateBucketCommand({ Bucket: bucket, ObjectLockEnabledForBucket }));
  const list = async (prefix: string): Promise<string[]> => {
    const listed = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
    return (listed.Contents ?? []).flatMap(({ Key }) => Key ?? []);
  };
  const read = async (key: string): Promise<string> => {
    const object = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return (await object.Body?.transformToString()) ?? '';
  };
  const lines = async (prefix: string): Promise<string[]> =>
    (await Promise.all((await list(prefix)).map(read))).flatMap((text) => text.trimEnd().split('\n'));
  return {
    bucket,
    client,
    list,
    read,
    create: (more: { readonly lockDays?: number } = lockDays === undefined ? {} : { lockDays }) =>
      createS3Sink({
        endpoint: endpoint ?? '',
        bucket,
        prefix: 'audit',
        region: 'us-east-1',
        accessKeyId: keys.accessKeyId,
        secretAccessKey: secret(keys.secretAccessKey),
        ...more,
      }),
    received: async () =>
      (await lines('audit/segments/')).map((line) => sinkLineSchema.parse(JSON.parse(line)).id),
    anchored: async () =>
      (await lines('audit/checkpoints/')).map((line) => {
        const { number, frontier } = checkpointLineSchema.parse(JSON.parse(line));
        return checkpointId(number, frontier[0] ?? '');
      }),
    remove: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

if (noCeph === false) {
  sinkContract('s3', () => makePlace());
  sinkContract('s3', () => makePlace(1));
}

test(
  'manifests list every segment that a checkpoint covers, chained, over restarts',
  { skip: noCeph },
  async (t) => {
    const place = await makePlace();
    t.after(place.remove);
    const log = sampleLog(40);
    const checkpoints = sampleCheckpoints(40);
    const first = place.create();
    await first.open();
    await first.deliver(log.slice(0, 10), soon());
    await first.deliver(log.slice(10, 20), soon());
    // covers 15 entries: the second segment is not sealed as a whole
    await first.anchor(checkpoints.slice(15, 16), soon());
    await first.anchor(checkpoints.slice(15, 16), soon());
    await first.close();
    const second = place.create();
    await second.open();
    await second.deliver(log.slice(20, 39), soon());
    await second.anchor(checkpoints.slice(38, 40), soon());
    await second.close();
    const names = await place.list('audit/manifests/');
    const texts = await Promise.all(names.map(place.read));
    const manifests = texts.map((text) => segmentManifestSchema.parse(JSON.parse(text)));
    assert.deepEqual(
      manifests.map(({ manifest, size, segments }) => [
        manifest,
        size,
        segments.map(({ first, last }) => [first, last]),
      ]),
      [
        [0, 15, [[0, 9]]],
        [
          1,
          39,
          [
            [10, 19],
            [20, 38],
          ],
        ],
      ],
    );
    assert.deepEqual(
      manifests.map(({ previous }) => previous),
      ['', objectDigest(texts[0] ?? '')],
    );
    for (const { key, sha256, bytes } of manifests.flatMap(({ segments }) => segments)) {
      const text = await place.read(`audit/${key}`);
      assert.deepEqual([objectDigest(text), Buffer.byteLength(text)], [sha256, bytes]);
    }
  },
);

test('with Object Lock nobody removes a segment, a checkpoint or a manifest', { skip: noCeph }, async (t) => {
  const place = await makePlace(1);
  t.after(place.remove);
  const sink = place.create();
  await sink.open();
  await sink.deliver(sampleLog(10), soon());
  await sink.anchor(sampleCheckpoints(11).slice(10), soon());
  await sink.close();
  const { Versions: versions = [] } = await place.client.send(
    new ListObjectVersionsCommand({ Bucket: place.bucket }),
  );
  assert.equal(versions.length, 3);
  for (const { Key, VersionId } of versions) {
    const object = { Bucket: place.bucket, Key, VersionId };
    const { Retention } = await place.client.send(new GetObjectRetentionCommand(object));
    assert.equal(Retention?.Mode, 'COMPLIANCE');
    await assert.rejects(place.client.send(new DeleteObjectCommand(object)), { name: 'AccessDenied' });
  }
});

test('a lock that the bucket does not have is refused with what to do', { skip: noCeph }, async (t) => {
  const place = await makePlace();
  t.after(place.remove);
  const sink = place.create({ lockDays: 30 });
  await assert.rejects(sink.open(), { code: 'configuration_invalid', message: /has no Object Lock/ });
  await sink.close();
});

test('an erased person is in no version of a bucket with Object Lock', { skip: noCeph }, async (t) => {
  const place = await makePlace(1);
  t.after(place.remove);
  const person = 'person:0123456789abcdef';
  const [first, second] = sampleLog(3);
  assert.ok(first !== undefined && second !== undefined);
  const sink = place.create();
  await sink.open();
  await sink.deliver([{ ...first, people: new Map([[person, 'erase.me@example.org']]) }], soon());
  const versions = async () => {
    const { Versions = [], DeleteMarkers = [] } = await place.client.send(
      new ListObjectVersionsCommand({ Bucket: place.bucket, Prefix: 'audit/people/' }),
    );
    return [...Versions, ...DeleteMarkers].length;
  };
  assert.equal(await versions(), 1, 'the identity is there');
  const erased = { type: 'person.erased', subject: 'admin', body: { person } } as const;
  const [, entry] = extendChain(unopened(fleetChain), [erased], '2026-11-29T15:00:00.000Z').entries;
  await sink.deliver([{ index: 1, entry: entry ?? assert.fail() }], soon());
  assert.equal(await versions(), 0);
  await sink.close();
});

test(
  'a bucket that locks all by itself is told no identities, and says what to do',
  { skip: noCeph },
  async (t) => {
    const place = await makePlace(1);
    t.after(place.remove);
    await place.client.send(
      new PutObjectLockConfigurationCommand({
        Bucket: place.bucket,
        ObjectLockConfiguration: {
          ObjectLockEnabled: 'Enabled',
          Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: 1 } },
        },
      }),
    );
    const [first] = sampleLog(3);
    assert.ok(first !== undefined);
    const sink = place.create();
    await sink.open();
    const people = new Map([['person:0123456789abcdef', 'erase.me@example.org']]);
    await assert.rejects(sink.deliver([{ ...first, people }], soon()), {
      code: 'configuration_invalid',
      message: /identities: false/,
    });
    assert.deepEqual(await place.list('audit/'), []);
    assert.deepEqual(await sink.deliver([first], soon()), []);
    await sink.close();
  },
);
