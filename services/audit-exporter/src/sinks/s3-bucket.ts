import {
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectLockConfigurationCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { encryptionMembers, requireEncrypted } from '@lemniscate/shared/storage/bucket-encryption.ts';
import type { EncryptionOptions } from '@lemniscate/shared/storage/bucket-encryption.ts';

export interface BucketOptions extends EncryptionOptions {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Object Lock in compliance mode for so many days; absent: the server has none. */
  readonly lockDays?: number | undefined;
}

/** A bucket whose objects are written once. Every call has a deadline, and fails with `forbidden` or `storage_failed`. */
export interface Bucket {
  /** Locked where the bucket locks. `there`: another has written this key, and nothing was changed. */
  putOnce(key: string, body: string, signal: AbortSignal): Promise<'written' | 'there'>;
  /** What it holds can be forgotten. @throws CodedError `configuration_invalid` where the bucket locks by itself whatever comes */
  putErasable(key: string, body: string, signal: AbortSignal): Promise<void>;
  /** With every version that a bucket with versioning keeps: one with Object Lock always does. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  read(key: string): Promise<string>;
  /** Keys below a prefix that come after one, in order, at most a thousand. */
  keysAfter(prefix: string, key: string): Promise<string[]>;
  /** The last key below a prefix, found without listing them all: names begin with a padded number. */
  lastKey(prefix: string, numberOf: (key: string) => number): Promise<string | null>;
  /** @throws CodedError `configuration_invalid` where objects are to be locked and the bucket cannot */
  requireLock(): Promise<void>;
  close(): void;
}

const callMs = 20_000;
const digits = 15;

/** A number as names have it, so that names sort as numbers do. */
export const padded = (value: number): string => String(value).padStart(digits, '0');

/** @param place how faults name it */
export function openBucket(options: BucketOptions, place: string): Bucket {
  const { bucket: Bucket, lockDays } = options;
  const client = createClient(options);
  const within = (signal?: AbortSignal): { abortSignal: AbortSignal } => {
    const deadline = AbortSignal.timeout(callMs);
    return { abortSignal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]) };
  };
  const named = async <Result>(calling: Promise<Result>): Promise<Result> => {
    try {
      return await calling;
    } catch (error) {
      throw nameFault(error, place);
    }
  };
  const keysAfter = async (Prefix: string, StartAfter: string, MaxKeys: number): Promise<string[]> => {
    const listed = await named(
      client.send(new ListObjectsV2Command({ Bucket, Prefix, StartAfter, MaxKeys }), within()),
    );
    return (listed.Contents ?? []).flatMap(({ Key }) => Key ?? []);
  };
  let locks: boolean | null = null;
  const lockOf = async (): Promise<{ enabled: boolean; byDefault: boolean }> => {
    try {
      const command = new GetObjectLockConfigurationCommand({ Bucket });
      const { ObjectLockConfiguration: found } = await client.send(command, within());
      return {
        enabled: found?.ObjectLockEnabled === 'Enabled',
        byDefault: found?.Rule?.DefaultRetention?.Mode !== undefined,
      };
    } catch (error) {
      const status = statusOf(error);
      // 404: the bucket has no such setting; 501, 400 and 405: the server knows none
      if ([400, 404, 405, 501].includes(status ?? 0)) return { enabled: false, byDefault: false };
      throw nameFault(error, place);
    }
  };
  const locksByItself = async (): Promise<boolean> => (locks ??= (await lockOf()).byDefault);
  return {
    putOnce: async (Key, Body, signal) => {
      const lock =
        lockDays === undefined
          ? {}
          : {
              ObjectLockMode: 'COMPLIANCE' as const,
              ObjectLockRetainUntilDate: new Date(Date.now() + lockDays * 86_400_000),
              ChecksumAlgorithm: 'SHA256' as const,
            };
      try {
        const command = { Bucket, Key, Body, IfNoneMatch: '*', ...lock, ...encryptionMembers(options) };
        requireEncrypted(
          options,
          'encryption',
          await client.send(new PutObjectCommand(command), within(signal)),
        );
        return 'written';
      } catch (error) {
        if (statusOf(error) === 412) {
          // what was written before may have been refused for lying there in the clear
          if (Object.keys(encryptionMembers(options)).length > 0) {
            const there = await named(client.send(new HeadObjectCommand({ Bucket, Key }), within(signal)));
            requireEncrypted(options, 'encryption', there);
          }
          return 'there';
        }
        if (isCodedError(error)) throw error;
        throw nameFault(error, place);
      }
    },
    putErasable: async (Key, Body, signal) => {
      if (await locksByItself())
        throw new CodedError(
          'configuration_invalid',
          `The audit bucket ${place} locks every object by a default retention, so who a person is could not be erased ` +
            'there. Take the default retention off the bucket (lockDays locks what the log needs), or set identities: false.',
        );
      const command = new PutObjectCommand({ Bucket, Key, Body, ...encryptionMembers(options) });
      requireEncrypted(options, 'encryption', await named(client.send(command, within(signal))));
    },
    remove: async (Key, signal) => {
      // no version is named: in a bucket with versioning this only hides the object
      await named(client.send(new DeleteObjectCommand({ Bucket, Key }), within(signal)));
      for (;;) {
        const page = await named(
          client.send(new ListObjectVersionsCommand({ Bucket, Prefix: Key }), within(signal)),
        );
        const kept = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].filter(
          (one) => one.Key === Key && one.VersionId !== undefined && one.VersionId !== 'null',
        );
        for (const { VersionId } of kept)
          await named(client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }), within(signal)));
        if (page.IsTruncated !== true || kept.length === 0) return;
      }
    },
    read: async (Key) => {
      const object = await named(client.send(new GetObjectCommand({ Bucket, Key }), within()));
      return (await object.Body?.transformToString()) ?? '';
    },
    keysAfter: (prefix, key) => keysAfter(prefix, key, 1_000),
    lastKey: async (prefix, numberOf) => {
      const after = async (number: number): Promise<string | undefined> =>
        (await keysAfter(prefix, `${prefix}${padded(number)}`, 1))[0];
      let key = await after(0);
      if (key === undefined) return null;
      // the last key lies behind `low` and not behind `high`
      let [low, high] = [numberOf(key), numberOf(key) + 1_000];
      for (let found = await after(high); found !== undefined; found = await after(high))
        [low, key, high] = [numberOf(found), found, numberOf(found) * 2];
      while (low + 1 < high) {
        const middle = low + Math.floor((high - low) / 2);
        const found = await after(middle);
        if (found === undefined) high = middle;
        else [low, key] = [Math.max(middle, numberOf(found)), found];
      }
      return key;
    },
    requireLock: async () => {
      if (lockDays === undefined) return;
      if ((await lockOf()).enabled) return;
      throw new CodedError(
        'configuration_invalid',
        `The audit bucket ${place} has no Object Lock, and lockDays asks for it. Make a bucket with Object Lock, or leave lockDays out.`,
      );
    },
    close: () => client.destroy(),
  };
}

function createClient({ endpoint, region, accessKeyId, secretAccessKey }: BucketOptions): S3Client {
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
