import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import type { Sink } from '../application/ports/sink.ts';
import { peopleToldIn } from './known-people.ts';

export interface S3SinkOptions {
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Object Lock in compliance mode for so many days; absent: the server has none. */
  readonly lockDays?: number | undefined;
}

const callMs = 20_000;
const digits = 15;

/**
 * Segments and checkpoints as objects that are written once: `segments/FIRST-LAST.ndjson`, `checkpoints/NUMBER.json`. Who
 * the pseudonyms are lies in `people/…`, one object each and never locked, so that a person can be erased. A key
 * says what is in it, so the list of keys is the manifest; the last segment tells where the sink stands. Where the server
 * knows `If-None-Match`, an exporter that was frozen cannot write over its successor's object.
 */
export function createS3Sink(options: S3SinkOptions): Sink {
  const { endpoint, bucket: Bucket, lockDays } = options;
  const prefix = options.prefix.replace(/\/?$/, '/');
  const place = `${endpoint}/${Bucket}/${prefix}`;
  let client: S3Client | null = null;

  const held = (): S3Client => {
    if (client === null) throw new CodedError('internal', `The sink s3:${place} is not open.`);
    return client;
  };
  const put = async (Key: string, Body: string, signal: AbortSignal): Promise<'written' | 'there'> => {
    const lock =
      lockDays === undefined
        ? {}
        : {
            ObjectLockMode: 'COMPLIANCE' as const,
            ObjectLockRetainUntilDate: new Date(Date.now() + lockDays * 86_400_000),
            ChecksumAlgorithm: 'SHA256' as const,
          };
    const command = new PutObjectCommand({ Bucket, Key, Body, IfNoneMatch: '*', ...lock });
    try {
      await held().send(command, { abortSignal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]) });
      return 'written';
    } catch (error) {
      if (statusOf(error) === 412) return 'there';
      throw nameFault(error, place);
    }
  };

  const known = new Set<string>();
  const learn = async (batch: readonly IndexedEntry[], signal: AbortSignal): Promise<void> => {
    const { named, erased } = peopleToldIn(batch);
    const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(callMs)]);
    const keyOf = (pseudonym: string): string => `${prefix}people/${pseudonym.slice('person:'.length)}.json`;
    try {
      for (const [person, identity] of named) {
        if (known.has(person)) continue;
        const Body = JSON.stringify({ person, identity });
        await held().send(new PutObjectCommand({ Bucket, Key: keyOf(person), Body }), { abortSignal });
        known.add(person);
      }
      for (const person of erased)
        await held().send(new DeleteObjectCommand({ Bucket, Key: keyOf(person) }), { abortSignal });
    } catch (error) {
      throw nameFault(error, place);
    }
  };

  return {
    name: `s3:${place}`,
    open: async () => {
      client?.destroy();
      client = createClient(options);
      const last = await lastSegment(client, Bucket, `${prefix}segments/`, place);
      return last;
    },
    deliver: async (batch, signal) => {
      const [first, last] = [batch[0], batch.at(-1)];
      if (first === undefined || last === undefined) return [];
      const key = `${prefix}segments/${padded(first.index)}-${padded(last.index)}.ndjson`;
      await learn(batch, signal);
      // the key names both ends and lines are a pure function of the log: what is there is what we would write
      await put(key, batch.map(toSinkLine).join(''), signal);
      return [];
    },
    anchor: async (checkpoints, signal) => {
      for (const checkpoint of checkpoints)
        await put(
          `${prefix}checkpoints/${padded(checkpoint.number)}.json`,
          toCheckpointLine(checkpoint),
          signal,
        );
    },
    close: () => {
      client?.destroy();
      client = null;
      return Promise.resolve();
    },
  };
}

function createClient({ endpoint, region, accessKeyId, secretAccessKey }: S3SinkOptions): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
}

/** Where the last segment ends. Keys sort by index, so doubling and halving finds it without listing them all. */
async function lastSegment(client: S3Client, Bucket: string, Prefix: string, place: string) {
  const abortSignal = AbortSignal.timeout(callMs);
  const after = async (index: number): Promise<string | undefined> => {
    const StartAfter = `${Prefix}${padded(index)}`;
    const command = new ListObjectsV2Command({ Bucket, Prefix, StartAfter, MaxKeys: 1 });
    return (await client.send(command, { abortSignal })).Contents?.[0]?.Key;
  };
  try {
    let key = await after(0);
    if (key === undefined) return null;
    // the last key lies behind `low` and not behind `high`
    let [low, high] = [lastIndexOf(key), lastIndexOf(key) + 1_000];
    for (let found = await after(high); found !== undefined; found = await after(high))
      [low, key, high] = [lastIndexOf(found), found, lastIndexOf(found) * 2];
    while (low + 1 < high) {
      const middle = low + Math.floor((high - low) / 2);
      const found = await after(middle);
      if (found === undefined) high = middle;
      else [low, key] = [Math.max(middle, lastIndexOf(found)), found];
    }
    const object = await client.send(new GetObjectCommand({ Bucket, Key: key }), { abortSignal });
    const text = (await object.Body?.transformToString()) ?? '';
    const line = sinkLineSchema.parse(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''));
    return { index: line.index, digest: line.digest };
  } catch (error) {
    throw nameFault(error, place);
  }
}

const padded = (value: number): string => String(value).padStart(digits, '0');
const lastIndexOf = (key: string): number => Number(/-(\d+)\.ndjson$/.exec(key)?.[1] ?? 0);

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode;
}

function nameFault(error: unknown, place: string): CodedError {
  const status = statusOf(error);
  const name = error instanceof Error ? error.name : 'unknown';
  if (status === 401 || status === 403)
    return new CodedError(
      'forbidden',
      `The audit bucket ${place} refuses our credentials (${name}).`,
      {},
      error,
    );
  return new CodedError('storage_failed', `The audit bucket ${place} failed (${name}).`, {}, error);
}
