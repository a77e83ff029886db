import type { StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';

// The same rules as the verifier of the terminal client (RFC 8785 bytes, length-prefixed SHA-256, RFC 9162), written
// for the browser's own cryptography: what this page says rests on no word of the server that is shown here.

/** What was found in a chain. */
export interface ChainProof {
  readonly entries: number;
  readonly closed: boolean;
  /** Null: whole. */
  readonly fault: string | null;
  /** Digest of the last whole entry, hex. */
  readonly head: string;
}

const encoder = new TextEncoder();

export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
}

function number(value: number, bytes: 4 | 8): Uint8Array {
  const buffer = new DataView(new ArrayBuffer(bytes));
  if (bytes === 4) buffer.setUint32(0, value);
  else buffer.setBigUint64(0, BigInt(value));
  return new Uint8Array(buffer.buffer);
}

/** The digest that an entry must have. */
export function entryDigest(
  chain: string,
  seq: number,
  prev: Uint8Array,
  body: Uint8Array,
): Promise<Uint8Array> {
  const parts = [encoder.encode(chain), number(seq, 8), prev, body];
  const framed = parts.flatMap((part) => [number(part.length, 4), part]);
  return sha256(encoder.encode('lemniscate/audit/entry/v1\0'), ...framed);
}

/** Recomputes a chain from its first entry; stops at the first that is broken. */
export async function proveChain(
  chain: string,
  entries: readonly StoredEntry[],
  head: { readonly seq: number; readonly digest: string },
): Promise<ChainProof> {
  let prev = '';
  let seq = 0;
  let closed = false;
  const end = (fault: string | null): ChainProof => ({ entries: seq, closed, fault, head: prev });
  for (const entry of entries) {
    if (entry.chain !== chain) return end(`entry ${entry.seq} belongs to another chain`);
    if (entry.seq !== seq + 1) return end(`after entry ${seq} comes ${entry.seq}`);
    if (closed) return end(`entry ${entry.seq} follows the closing one`);
    if (entry.prev !== prev) return end(`entry ${entry.seq} does not carry the digest of the one before it`);
    const body = fromBase64(entry.body);
    const digest = toHex(await entryDigest(chain, entry.seq, fromHex(entry.prev), body));
    if (digest !== entry.digest) return end(`the bytes of entry ${entry.seq} do not have its digest`);
    if (!saysTheSame(entry, body)) return end(`what is shown of entry ${entry.seq} is not what was hashed`);
    seq = entry.seq;
    prev = digest;
    closed = entry.type === 'chain.closed';
  }
  if (seq === 0) return end('it has no entry');
  if (head.seq !== seq || head.digest !== prev)
    return end(`it is said to end at entry ${head.seq} with another digest`);
  return end(null);
}

function saysTheSame(entry: StoredEntry, body: Uint8Array): boolean {
  const { type, at } = readBody(body);
  return type === entry.type && at === entry.at;
}

/** What an entry says, out of the bytes that were hashed. */
export function readBody(body: Uint8Array): {
  readonly type?: string;
  readonly at?: string;
  readonly subject?: string;
  readonly body?: Readonly<Record<string, unknown>>;
} {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as object;
  } catch {
    // Bytes that are no JSON say nothing, and differ from whatever is shown beside them.
    return {};
  }
}

/** Whether a path leads from an entry's digest to the root of a tree (RFC 9162 section 2.1.3.2). */
export async function isIncluded(
  digest: string,
  index: number,
  size: number,
  path: readonly string[],
  root: string,
): Promise<boolean> {
  if (index >= size) return false;
  let hash = await sha256(Uint8Array.of(0), fromHex(digest));
  let [fn, sn] = [index, size - 1];
  for (const sibling of path.map(fromHex)) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      hash = await sha256(Uint8Array.of(1), sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else hash = await sha256(Uint8Array.of(1), hash, sibling);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && toHex(hash) === root;
}

/** Size and root that a checkpoint's signed note states. */
export function readNote(note: string): { readonly size: number; readonly root: string } | null {
  const [, size, root] = note.split('\n');
  if (size === undefined || root === undefined || !/^\d+$/.test(size)) return null;
  return { size: Number(size), root: toHex(fromBase64(root)) };
}
