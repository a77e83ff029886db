import { createPublicKey, hash, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

// A checkpoint is a C2SP signed note (tlog-checkpoint): origin, size, root, then our extension lines, an empty line and
// one signature. Any verifier of such notes can check it.

/** A statement of the whole log: so many entries, with this root. */
export interface Checkpoint {
  /** The log's name; a checkpoint of another log proves nothing here. */
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** From 0 without gaps, also when nothing has happened. */
  readonly number: number;
  /** How often the database has been restored from a backup. */
  readonly epoch: number;
  /** RFC 3339 with milliseconds, UTC. */
  readonly at: string;
}

/** A checkpoint with its signature, as it is kept and exported. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: string;
  /** Not signed, for it proves itself: what a verifier needs to go on from here. */
  readonly frontier: readonly Uint8Array[];
}

/** A log's public key, written `NAME+KEYHASH+BASE64` (C2SP signed-note "vkey"). */
export interface LogKey {
  readonly name: string;
  /** First four bytes of the key's hash, hex. */
  readonly id: string;
  readonly publicKey: KeyObject;
  /** The key as text. */
  readonly text: string;
}

const ed25519 = 1;
const dash = '\u2014';

/** The signed part of a note, its last line feed included. */
export function checkpointText({ origin, size, root, number, epoch, at }: Checkpoint): string {
  const rootText = Buffer.from(root).toString('base64');
  return `${origin}\n${size}\n${rootText}\nnumber ${number}\nepoch ${epoch}\nat ${at}\n`;
}

const textPattern =
  /^(?<origin>[^\s+]+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\nnumber (?<number>0|[1-9]\d{0,15})\nepoch (?<epoch>0|[1-9]\d{0,8})\nat (?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\n$/;

/** Reads a note without believing it; null where it is none. Equal checkpoints have equal texts. */
export function readNote(
  note: string,
): { checkpoint: Checkpoint; text: string; signatures: string[] } | null {
  const split = note.indexOf('\n\n');
  if (split === -1 || note.length > 8192 || !note.endsWith('\n')) return null;
  const text = note.slice(0, split + 1);
  const groups = textPattern.exec(text)?.groups;
  if (groups === undefined) return null;
  const { origin = '', root = '', at = '' } = groups;
  const checkpoint: Checkpoint = {
    origin,
    size: Number(groups['size']),
    root: Buffer.from(root, 'base64'),
    number: Number(groups['number']),
    epoch: Number(groups['epoch']),
    at,
  };
  // base64 of 32 bytes has two bits to spare; only the canonical spelling is the checkpoint
  if (checkpointText(checkpoint) !== text) return null;
  return { checkpoint, text, signatures: note.slice(split + 2, -1).split('\n') };
}

/** The note of a text and its Ed25519 signature. */
export function composeNote(text: string, key: LogKey, signature: Uint8Array): string {
  const line = Buffer.concat([Buffer.from(key.id, 'hex'), signature]).toString('base64');
  return `${text}\n${dash} ${key.name} ${line}\n`;
}

/**
 * A checkpoint that this key has signed; null where the note is no checkpoint or the key has not signed it. Signatures
 * of others beside it (witnesses) are left alone.
 */
export function openNote(note: string, key: LogKey): Checkpoint | null {
  const read = readNote(note);
  if (read === null) return null;
  const signed = read.signatures.some((line) => {
    const [mark, name, value = ''] = line.split(' ');
    const bytes = Buffer.from(value, 'base64');
    if (mark !== dash || name !== key.name || bytes.length !== 68) return false;
    if (bytes.subarray(0, 4).toString('hex') !== key.id) return false;
    return verify(null, Buffer.from(read.text), key.publicKey, bytes.subarray(4));
  });
  return signed && read.checkpoint.origin === key.name ? read.checkpoint : null;
}

/** A log's key from the public half of an Ed25519 key pair. @throws RangeError for any other kind of key */
export function logKey(name: string, publicKey: KeyObject): LogKey {
  if (publicKey.asymmetricKeyType !== 'ed25519') throw new RangeError('The key of an audit log is Ed25519.');
  const raw = Buffer.from(String(publicKey.export({ format: 'jwk' })['x']), 'base64url');
  const bytes = Buffer.concat([Buffer.of(ed25519), raw]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]), 'hex').slice(0, 8);
  return { name, id, publicKey, text: `${name}+${id}+${bytes.toString('base64')}` };
}

/** Reads a key's text; null where it is none or its hash does not belong to it. */
export function parseLogKey(text: string): LogKey | null {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  if (name === undefined || bytes.length !== 33 || bytes[0] !== ed25519) return null;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') };
  const key = logKey(name, createPublicKey({ key: jwk, format: 'jwk' }));
  return key.id === id ? key : null;
}
