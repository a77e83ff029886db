import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ListObjectVersionsCommandOutput } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import {
  encryptionHeaders,
  encryptionMembers,
  requireEncrypted,
} from '@lemniscate/shared/storage/bucket-encryption.ts';
import type { EncryptionOptions } from '@lemniscate/shared/storage/bucket-encryption.ts';
import { keyPrefixes } from '../../application/ports/object-store.ts';
import type { ObjectStore } from '../../application/ports/object-store.ts';

export interface ObjectStoreOptions extends EncryptionOptions {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Absent, with the secret: as whom the machine or task is known, found where the SDK looks by itself. */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: Secret | undefined;
}

export interface S3ObjectStore extends ObjectStore {
  /**
   * Creates the bucket when it is missing, and writes a byte to see what becomes of it.
   * @returns how the bucket says that it encrypts what it keeps; null: it does not say so
   * @throws CodedError `storage_failed`, also where it does not encrypt as it is asked to
   */
  prepare(): Promise<string | null>;
  close(): void;
}

/** Bounds of one call: connecting, an idle socket, and the whole of a short call, retries included. Milliseconds. */
const connectMs = 2_000;
const idleMs = 5_000;
const shortCallMs = 5_000;
/** Reading and copying up to 5 GiB. */
const longCallMs = 15 * 60_000;

function credentialsOf({ accessKeyId, secretAccessKey }: ObjectStoreOptions) {
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  return { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } };
}

/** The object store over the S3 protocol: AWS, and whatever else speaks it at `endpoint`. */
export function createObjectStore(options: ObjectStoreOptions): S3ObjectStore {
  const client = new S3Client({
    endpoint: options.endpoint,
    region: options.region,
    // Buckets as host names need DNS that only AWS has.
    forcePathStyle: true,
    ...credentialsOf(options),
    // Streamed puts with the SDK's own trailing checksum are not understood by every peer.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: connectMs, requestTimeout: idleMs, throwOnRequestTimeout: true },
  });
  const { bucket: Bucket } = options;
  const short = (): { abortSignal: AbortSignal } => ({ abortSignal: AbortSignal.timeout(shortCallMs) });
  const write = async (Key: string, Body: Uint8Array) => {
    const command = new PutObjectCommand({ Bucket, Key, Body, ...encryptionMembers(options) });
    const answer = await client.send(command, short());
    requireEncrypted(options, 'S3_ENCRYPTION', answer);
    return answer;
  };
  /**
   * Removes an object with every version of it. A bucket with versioning (also one where it is suspended) answers a deletion
   * with a marker, and keeps the bytes: an erasure that stopped there would have erased nothing. Others cost no second call.
   */
  const remove = async (Key: string): Promise<void> => {
    const { DeleteMarker, VersionId } = await client.send(new DeleteObjectCommand({ Bucket, Key }), short());
    if (DeleteMarker !== true && VersionId === undefined) return;
    for (const versionId of await versionsOf(client, Bucket, Key, short))
      await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId: versionId }), short());
  };

  return {
    prepare: () =>
      guard(options, 'prepare the bucket', async () => {
        try {
          await client.send(new HeadBucketCommand({ Bucket }), short());
        } catch (error) {
          if (statusOf(error) !== 404) throw error;
          await client.send(new CreateBucketCommand({ Bucket }), short()).catch((failure: unknown) => {
            // Somebody else has made it between the two calls.
            if (statusOf(failure) !== 409) throw failure;
          });
        }
        const Key = `incoming/probe/${randomUUID()}`;
        const answer = await write(Key, Buffer.from('?'));
        await remove(Key);
        return answer.ServerSideEncryption ?? null;
      }),
    put: (Key, bytes) =>
      guard(options, `write ${Key}`, async () => {
        requireKnown(Key);
        await write(Key, bytes);
      }),
    get: (Key) =>
      guard(options, `read ${Key}`, async () => {
        const found = await orMissing(
          client.send(new GetObjectCommand({ Bucket, Key }), {
            abortSignal: AbortSignal.timeout(longCallMs),
          }),
        );
        if (found?.Body === undefined) return null;
        return { bytes: found.ContentLength ?? 0, body: guardBody(options, Key, found.Body as Readable) };
      }),
    remove: (Key) =>
      guard(options, `remove ${Key}`, async () => {
        await remove(Key);
      }),
    size: (Key) =>
      guard(options, `look at ${Key}`, async () => {
        const found = await orMissing(client.send(new HeadObjectCommand({ Bucket, Key }), short()));
        return found === null ? null : (found.ContentLength ?? 0);
      }),
    presignPut: (Key, { sha256, bytes }, seconds) =>
      guard(options, `sign an upload to ${Key}`, async () => {
        requireKnown(Key);
        const checksum = Buffer.from(sha256, 'hex').toString('base64');
        const command = new PutObjectCommand({
          Bucket,
          Key,
          ContentLength: bytes,
          ChecksumSHA256: checksum,
          ...encryptionMembers(options),
        });
        const encryption = encryptionHeaders(options);
        // As headers, not in the query: what is in the query binds nothing that the sender sends.
        const signed = new Set(['content-length', 'x-amz-checksum-sha256', ...Object.keys(encryption)]);
        const url = await getSignedUrl(client, command, {
          expiresIn: seconds,
          unhoistableHeaders: signed,
          signableHeaders: new Set([...signed, 'host']),
        });
        return {
          url,
          headers: { 'content-length': String(bytes), 'x-amz-checksum-sha256': checksum, ...encryption },
        };
      }),
    presignGet: (Key, seconds) =>
      guard(options, `sign a download of ${Key}`, () =>
        getSignedUrl(client, new GetObjectCommand({ Bucket, Key }), { expiresIn: seconds }),
      ),
    adopt: (from, to, announced) =>
      guard(options, `adopt ${from}`, async () => {
        requireKnown(to);
        const abortSignal = AbortSignal.timeout(longCallMs);
        const found = await orMissing(
          client.send(new GetObjectCommand({ Bucket, Key: from }), { abortSignal }),
        );
        if (found?.Body === undefined) return 'missing';
        if (!(await holds(found.Body as Readable, announced))) {
          await remove(from);
          return 'mismatch';
        }
        const copied = await client.send(
          new CopyObjectCommand({
            Bucket,
            Key: to,
            CopySource: `${Bucket}/${encodeURIComponent(from).replaceAll('%2F', '/')}`,
            // What the sender called it is not signed: a page of theirs would open in the browser of whoever reads it.
            MetadataDirective: 'REPLACE',
            ContentType: 'application/octet-stream',
            ...encryptionMembers(options),
            // Whoever holds the address could write again between check and copy; then this fails.
            ...(found.ETag === undefined ? {} : { CopySourceIfMatch: found.ETag }),
          }),
          { abortSignal },
        );
        requireEncrypted(options, 'S3_ENCRYPTION', copied);
        await remove(from);
        return 'adopted';
      }),
    close: () => client.destroy(),
  };
}

/** Every version of an object, markers of its deletion among them. Other keys may begin like it: they come behind its own. */
async function versionsOf(
  client: S3Client,
  Bucket: string,
  Key: string,
  short: () => { abortSignal: AbortSignal },
): Promise<string[]> {
  const found: string[] = [];
  let next: { KeyMarker?: string; VersionIdMarker?: string } | null = {};
  while (next !== null) {
    const page: ListObjectVersionsCommandOutput = await client.send(
      new ListObjectVersionsCommand({ Bucket, Prefix: Key, ...next }),
      short(),
    );
    const own = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].filter((each) => each.Key === Key);
    found.push(...own.flatMap(({ VersionId }) => VersionId ?? []));
    const { IsTruncated, NextKeyMarker, NextVersionIdMarker } = page;
    next =
      IsTruncated === true && NextKeyMarker === Key && NextVersionIdMarker !== undefined
        ? { KeyMarker: NextKeyMarker, VersionIdMarker: NextVersionIdMarker }
        : null;
  }
  return found;
}

/** Whether the stream is exactly these bytes. Reads no further than one byte too many. */
async function holds(body: Readable, announced: { sha256: string; bytes: number }): Promise<boolean> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > announced.bytes) break;
    hash.update(chunk);
  }
  return bytes === announced.bytes && hash.digest('hex') === announced.sha256;
}

async function orMissing<Result>(call: Promise<Result>): Promise<Result | null> {
  try {
    return await call;
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode;
}

async function guard<Result>(
  options: ObjectStoreOptions,
  what: string,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (isCodedError(error)) throw error;
    throw storageFailed(options, what, error);
  }
}

/** @throws CodedError `internal` for a key below which no rule of retention reaches */
function requireKnown(key: string): void {
  if (keyPrefixes.some((prefix) => key.startsWith(prefix))) return;
  throw new CodedError('internal', `No store of ours has keys like ${key}.`, { key });
}

async function* guardBody(
  options: ObjectStoreOptions,
  key: string,
  body: Readable,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw storageFailed(options, `read ${key} to its end`, error);
  } finally {
    body.destroy();
  }
}

function storageFailed(options: ObjectStoreOptions, what: string, error: unknown): CodedError {
  const why = error instanceof Error ? error.name : 'unknown';
  return new CodedError(
    'storage_failed',
    `The object store at ${options.endpoint} could not ${what} (${why}). Check S3_ENDPOINT, the bucket ${options.bucket} and that the store runs.`,
    { bucket: options.bucket, status: statusOf(error) ?? null },
    error,
  );
}
