import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { keyBytes, seal, unseal } from '../../application/content/envelope.ts';
import type { ContentKeys } from '../../application/ports/content-keys.ts';

const about = 'lemniscate content key';

/** More former keys than this are a mistake: each is looked after until nothing is left that it wrapped. */
const mostKeys = 16;

interface NamedKey {
  readonly name: string;
  readonly key: Uint8Array;
}

/**
 * The master keys from a file: one a line, 32 bytes in base64 (`openssl rand -base64 32`). The first wraps; all open what
 * they have wrapped, so that a key is changed by a line above it and taken out when nothing needs it any more.
 * @throws CodedError `configuration_invalid`
 */
export function createKeyFile(path: string, variable = 'LEMNISCATE_CONTENT_KEY'): ContentKeys {
  const [current, ...former] = readKeys(path, variable);
  const keys = new Map([current, ...former].map(({ name, key }) => [name, key]));
  return {
    name: current.name,
    wrap: (plain) => Promise.resolve(seal(current.key, about, plain)),
    unwrap: (wrapped, by) => {
      const key = keys.get(by);
      const plain = key === undefined ? null : unseal(key, about, wrapped);
      if (plain !== null) return Promise.resolve(plain);
      return Promise.reject(
        new CodedError(
          'storage_failed',
          `The key was wrapped by ${by}, and ${variable} holds ${[...keys.keys()].join(', ')}. Add the key that it was wrapped by as a further line.`,
        ),
      );
    },
  };
}

function readKeys(path: string, variable: string): [NamedKey, ...NamedKey[]] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CodedError('configuration_invalid', `${variable}: the file ${path} cannot be read.`, {}, error);
  }
  const keys = text.split(/\r?\n/).map((line, index) => parseKey(line.trim(), path, variable, index + 1));
  const [current, ...former] = keys;
  if (current !== undefined && keys.length <= mostKeys) return [current, ...former];
  throw new CodedError(
    'configuration_invalid',
    `${variable}: the file ${path} holds ${keys.length} keys. At most ${mostKeys} are taken.`,
  );
}

function parseKey(line: string, path: string, variable: string, number: number): NamedKey {
  const key = Buffer.from(line, 'base64');
  if (key.length === keyBytes && key.toString('base64') === line) return { name: nameOf(key), key };
  throw new CodedError(
    'configuration_invalid',
    `${variable}: line ${number} of the file ${path} does not hold 32 bytes in base64. Make one with "openssl rand -base64 32".`,
  );
}

/** Tells keys apart without telling anything of them. */
function nameOf(key: Uint8Array): string {
  return `file:${createHash('sha256').update('lemniscate/content-key/v1').update(key).digest('hex').slice(0, 16)}`;
}
