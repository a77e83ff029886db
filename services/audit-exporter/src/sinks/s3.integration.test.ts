import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { checkpointId, checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { createS3Sink } from './s3.ts';
import { sampleLog, sinkContract } from './sink-contract.ts';

const endpoint = process.env['LEMNISCATE_TEST_S3_ENDPOINT'];
const noS3 = endpoint === undefined ? 's3: LEMNISCATE_TEST_S3_ENDPOINT is not set' : false;

async function makePlace() {
  const bucket = `audit-${randomBytes(6).toString('hex')}`;
  const client = new S3Client({
    endpoint: endpoint ?? '',
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'k', secretAccessKey: 's' },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const read = async (prefix: string): Promise<string[]> => {
    const listed = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
    const lines: string[] = [];
    for (const { Key } of listed.Contents ?? []) {
      const object = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      lines.push(...((await object.Body?.transformToString()) ?? '').trimEnd().split('\n'));
    }
    return lines;
  };
  const create = (more: { readonly encryption?: 'AES256' } = {}) =>
    createS3Sink({
      ...more,
      endpoint: endpoint ?? '',
      bucket,
      prefix: 'audit',
      region: 'us-east-1',
      accessKeyId: 'k',
      secretAccessKey: secret('s'),
    });
  return {
    create,
    received: async () =>
      (await read('audit/segments/')).map((line) => sinkLineSchema.parse(JSON.parse(line)).id),
    anchored: async () =>
      (await read('audit/checkpoints/')).map((line) => {
        const { number, frontier } = checkpointLineSchema.parse(JSON.parse(line));
        return checkpointId(number, frontier[0] ?? '');
      }),
    remove: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}

if (noS3 === false) sinkContract('s3', makePlace);

test('the last segment is found among many, however they are cut', { skip: noS3 }, async () => {
  const place = await makePlace();
  const log = sampleLog(90);
  for (const [from, to] of [
    [0, 1],
    [1, 40],
    [40, 41],
    [41, 90],
  ] as const) {
    const sink = place.create();
    assert.equal((await sink.open())?.index ?? -1, from - 1);
    await sink.deliver(log.slice(from, to), AbortSignal.timeout(10_000));
    await sink.close();
  }
  const far = log.slice(0, 2).map(({ entry }, place) => ({ index: 5_000_000_000 + place, entry }));
  const sink = place.create();
  await sink.open();
  await sink.deliver(far, AbortSignal.timeout(10_000));
  assert.equal((await sink.open())?.index, 5_000_000_001);
  await sink.close();
  await place.remove();
});

test(
  'a bucket that does not encrypt as it is asked to gets nothing, also on the second try',
  { skip: noS3 },
  async () => {
    const place = await makePlace();
    const log = sampleLog(3);
    const sink = place.create({ encryption: 'AES256' });
    // the second finds what the first has written there
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await sink.open();
      await assert.rejects(sink.deliver(log, AbortSignal.timeout(10_000)), {
        code: 'storage_failed',
        message: /encryption asks for AES256/,
      });
    }
    await sink.close();
    await place.remove();
  },
);
