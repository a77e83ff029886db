import { DecryptCommand, EncryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ContentKeys } from '../../application/ports/content-keys.ts';

export interface KmsOptions {
  /** ARN, id or alias of a symmetric key. */
  readonly keyId: string;
  readonly region: string;
  /** Absent: AWS' own. */
  readonly endpoint?: string | undefined;
  /** What the key is used for, as AWS' own log names it and as the ciphertext is bound to it. */
  readonly purpose?: string;
}

const callMs = 10_000;

/** The master key in AWS KMS: it never leaves there, and who used it when is in AWS' own log. */
export function createKmsKeys({
  keyId,
  region,
  endpoint,
  purpose = 'lemniscate-content-key',
}: KmsOptions): ContentKeys {
  const context = { purpose };
  const client = new KMSClient({
    region,
    maxAttempts: 3,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const deadline = (): { abortSignal: AbortSignal } => ({ abortSignal: AbortSignal.timeout(callMs) });
  return {
    name: `kms:${keyId}`,
    wrap: async (plain) => {
      const command = new EncryptCommand({ KeyId: keyId, Plaintext: plain, EncryptionContext: context });
      const { CiphertextBlob } = await client.send(command, deadline()).catch(failed);
      return CiphertextBlob ?? failed(new Error('no ciphertext in the answer'));
    },
    unwrap: async (wrapped) => {
      // the ciphertext names its key; ours is given as well, so that nobody can slip in another one
      const command = new DecryptCommand({
        KeyId: keyId,
        CiphertextBlob: wrapped,
        EncryptionContext: context,
      });
      const { Plaintext } = await client.send(command, deadline()).catch(failed);
      return Plaintext ?? failed(new Error('no plaintext in the answer'));
    },
  };

  function failed(error: unknown): never {
    const why = error instanceof Error ? error.name : 'unknown';
    throw new CodedError(
      'storage_failed',
      `AWS KMS did not use the key ${keyId} (${why}).`,
      { key: keyId },
      error,
    );
  }
}
