import { CodedError } from '../errors/coded-error.ts';

/** What a bucket can be asked to do with what it keeps. `bucket`: what it does by itself. */
export const bucketEncryptions = ['bucket', 'AES256', 'aws:kms'] as const;

export interface EncryptionOptions {
  readonly encryption?: (typeof bucketEncryptions)[number] | undefined;
  /** Of `aws:kms`: which key; absent: the account's own for S3. */
  readonly encryptionKey?: string | undefined;
}

/** Members of a command that writes an object. */
interface EncryptionMembers {
  readonly ServerSideEncryption?: 'AES256' | 'aws:kms';
  readonly SSEKMSKeyId?: string;
}

export function encryptionMembers({
  encryption = 'bucket',
  encryptionKey,
}: EncryptionOptions): EncryptionMembers {
  if (encryption === 'bucket') return {};
  if (encryption === 'AES256' || encryptionKey === undefined) return { ServerSideEncryption: encryption };
  return { ServerSideEncryption: encryption, SSEKMSKeyId: encryptionKey };
}

/** The same as headers of a request that somebody else sends; they are part of its signature. */
export function encryptionHeaders(options: EncryptionOptions): Record<string, string> {
  const { ServerSideEncryption: how, SSEKMSKeyId: key } = encryptionMembers(options);
  return {
    ...(how === undefined ? {} : { 'x-amz-server-side-encryption': how }),
    ...(key === undefined ? {} : { 'x-amz-server-side-encryption-aws-kms-key-id': key }),
  };
}

/**
 * Holds the answer to a write against what was asked for: many servers that speak S3 ignore what they do not know.
 * @param setting what asked for it
 * @throws CodedError `storage_failed`
 */
export function requireEncrypted(
  { encryption = 'bucket', bucket }: EncryptionOptions & { readonly bucket: string },
  setting: string,
  answer: { readonly ServerSideEncryption?: string | undefined },
): void {
  if (encryption === 'bucket' || answer.ServerSideEncryption === encryption) return;
  throw new CodedError(
    'storage_failed',
    `${setting} asks for ${encryption}, and the bucket ${bucket} does not say that it encrypts so (${answer.ServerSideEncryption ?? 'nothing'}). ` +
      'Set it up there, or leave it to the bucket: bucket.',
    { bucket, encryption },
  );
}
