import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Bytes of a key. */
export const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** A fresh key for AES-256-GCM. */
export const newKey = (): Uint8Array => randomBytes(keyBytes);

/**
 * Encrypts with AES-256-GCM: nonce, tag, ciphertext.
 * @param about what the bytes are, bound to them: a part of one session cannot be passed off as another's
 */
export function seal(key: Uint8Array, about: string, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** The reverse; null where key, bytes or `about` are not those of the sealing. */
export function unseal(key: Uint8Array, about: string, sealed: Uint8Array): Buffer | null {
  if (sealed.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes))
    .setAAD(Buffer.from(about))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]);
  } catch {
    // not what was sealed: the caller names it
    return null;
  }
}
