import { hash } from 'node:crypto';
import type { ChainedEntry } from './entry.ts';

/**
 * One buffer of a domain and parts: the domain with its closing NUL, then each part behind its length as four bytes,
 * big end first. Lengths make the split unambiguous, the domain keeps a digest of one kind from passing for another.
 */
export function framed(domain: string, parts: readonly Uint8Array[]): Buffer {
  const size = parts.reduce((sum, part) => sum + 4 + part.length, Buffer.byteLength(domain) + 1);
  const buffer = Buffer.allocUnsafe(size);
  let offset = buffer.write(domain, 'utf8');
  offset = buffer.writeUInt8(0, offset);
  for (const part of parts) {
    offset = buffer.writeUInt32BE(part.length, offset);
    buffer.set(part, offset);
    offset += part.length;
  }
  return buffer;
}

const entryDomain = 'lemniscate/audit/entry/v1';
/** Written anew for each digest: an entry of the largest body and the longest chain's name fits. */
const scratch = Buffer.allocUnsafeSlow(80 * 1024);
const entryStart = scratch.write(`${entryDomain}\0`, 'latin1');

/**
 * The digest of an entry: SHA-256 over `lemniscate/audit/entry/v1`, chain, seq (eight bytes), the digest before it
 * (nothing for the first entry) and the canonical bytes of the body, framed.
 */
export function entryDigest(chain: string, seq: number, prev: Uint8Array, body: Uint8Array): Uint8Array {
  return sha256(framedEntry(chain, seq, prev, body));
}

/** SHA-256, by way of a text: a hash as bytes takes twice as long (1.5 against 0.7 microseconds). */
export function sha256(bytes: Uint8Array): Uint8Array {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'binary');
}

/** Whether bytes are an entry's digest. */
export function isEntryDigest(
  digest: Uint8Array,
  { chain, seq, prev, body }: Pick<ChainedEntry, 'chain' | 'seq' | 'prev' | 'body'>,
): boolean {
  const text = hash('sha256', framedEntry(chain, seq, prev, body), 'binary');
  if (digest.length !== text.length) return false;
  for (let place = 0; place < text.length; place += 1)
    if (digest[place] !== text.charCodeAt(place)) return false;
  return true;
}

/** The chain whose name stands in `scratch`, and where it ends: a verifier comes with one chain again and again. */
let named = '';
let nameEnd = entryStart + 4;
scratch.writeUInt32BE(0, entryStart);

/** What is hashed; valid until the next call. */
function framedEntry(chain: string, seq: number, prev: Uint8Array, body: Uint8Array): Uint8Array {
  // a chain's name has at most three bytes a unit
  if (entryStart + 4 * 4 + 8 + chain.length * 3 + prev.length + body.length > scratch.length)
    return framed(entryDomain, [Buffer.from(chain), bigEndian(seq), prev, body]);
  if (chain !== named) {
    nameEnd = entryStart + 4 + scratch.write(chain, entryStart + 4, 'utf8');
    scratch.writeUInt32BE(nameEnd - entryStart - 4, entryStart);
    named = chain;
  }
  let at = scratch.writeUInt32BE(8, nameEnd);
  at = scratch.writeUInt32BE(Math.floor(seq / 2 ** 32), at);
  at = scratch.writeUInt32BE(seq % 2 ** 32, at);
  at = scratch.writeUInt32BE(prev.length, at);
  scratch.set(prev, at);
  at = scratch.writeUInt32BE(body.length, at + prev.length);
  scratch.set(body, at);
  // the one-shot hash over it: 1.6 times as fast as createHash on bodies of 400 bytes
  return scratch.subarray(0, at + body.length);
}

function bigEndian(seq: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(seq));
  return bytes;
}

/** Whether two digests are the same bytes. Digests are public, so time need not be constant. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

/** Lower-case hex, how digests are written outside the database. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
