import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ContentKeys } from '../../application/ports/content-keys.ts';
import { createKeyFile } from './key-file.ts';
import { createKmsKeys } from './kms.ts';

/** Where a master key may come from, and what the variables are called that say so. */
export interface MasterKeyChoice {
  readonly file: string | undefined;
  readonly keyId: string | undefined;
  readonly region: string;
  readonly endpoint: string | undefined;
  /** `CONTENT` or `CREDENTIAL`. */
  readonly of: 'CONTENT' | 'CREDENTIAL';
}

/**
 * The master key that the operator names; null where none is.
 * @throws CodedError `configuration_invalid` where two are given, or the file is none
 */
export function chooseMasterKey({ file, keyId, of, region, endpoint }: MasterKeyChoice): ContentKeys | null {
  const [fileVariable, kmsVariable] = [`LEMNISCATE_${of}_KEY`, `LEMNISCATE_${of}_KMS_KEY`];
  if (file !== undefined && keyId !== undefined)
    throw new CodedError(
      'configuration_invalid',
      `${fileVariable} and ${kmsVariable} are both set. There is one master key; unset the other.`,
    );
  if (file !== undefined) return createKeyFile(file, fileVariable);
  if (keyId === undefined) return null;
  return createKmsKeys({ keyId, region, endpoint, purpose: `lemniscate-${of.toLowerCase()}-key` });
}
