import { createHash } from 'node:crypto';

/**
 * How a login or service token is kept. Tokens are 256 random bits, so a plain digest cannot be searched, and a
 * look-up by it takes the same time whatever was sent.
 */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
