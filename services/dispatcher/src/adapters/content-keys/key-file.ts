import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { keyBytes, seal, unseal } from '../../application/content/envelope.ts';
import type { ContentKeys } from '../../application/ports/content-keys.ts';

const about = 'lemniscate content key';

/**
 * The master key from a file that holds 32 bytes in base64 (`openssl rand -base64 32`).
 * @throws CodedError `configuration_invalid`
 */
export function createKeyFile(path: string, variable = 'LEMNISCATE_CONTENT_KEY'): ContentKeys {
  const key = readKey(path, variable);
  // tells keys apart without telling anything of them
  const name = `file:${createHash('sha256').update('lemniscate/content-key/v1').update(key).digest('hex').slice(0, 16)}`;
  return {
    name,
    wrap: (plain) => Promise.resolve(seal(key, about, plain)),
    unwrap: (wrapped, by) => {
      const plain = by === name ? unseal(key, about, wrapped) : null;
      if (plain !== null) return Promise.resolve(plain);
      return Promise.reject(
        new CodedError(
          'storage_failed',
          `The key was wrapped by ${by}, and ${variable} is ${name}. Give the key that it was wrapped by.`,
        ),
      );
    },
  };
}

function readKey(path: string, variable: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CodedError('configuration_invalid', `${variable}: the file ${path} cannot be read.`, {}, error);
  }
  const key = Buffer.from(text, 'base64');
  if (key.length === keyBytes && key.toString('base64') === text) return key;
  throw new CodedError(
    'configuration_invalid',
    `${variable}: the file ${path} does not hold 32 bytes in base64. Make one with "openssl rand -base64 32".`,
  );
}
