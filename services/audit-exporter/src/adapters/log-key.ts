import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  checkpointText,
  composeNote,
  logKey,
  openNote,
  parseLogKey,
} from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { keyRotation, restoreEntry } from '@lemniscate/shared/audit/log-chain.ts';
import type { Frontier } from '@lemniscate/shared/audit/merkle.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LogSigner } from '../application/ports/log-signer.ts';
import type { SealStore } from '../application/ports/seal-store.ts';
import { provenFrontier } from './log-growth.ts';
import { isBehind, memoryText, newer, noteOf, readMemory } from './signed-memory.ts';
import type { Remembered } from './signed-memory.ts';
import { askWitnesses } from './signed-witnesses.ts';

/** Where the log's keys lie. */
export interface LogKeyFiles {
  /** Ed25519 in PEM (PKCS #8). Made when the log has no key yet; afterwards a missing file is an error. */
  readonly key: string;
  /** The key to hand over to. */
  readonly nextKey?: string | undefined;
  /** The last checkpoint that receivers have, after a restore. */
  readonly restoredFrom?: string | undefined;
  /** Folder for `.last` and `.pub`; absent: the key's own, which may be one that nobody writes to. */
  readonly memoryFolder?: string | undefined;
  /** Receivers that can say which checkpoint they have last, as a line of a `.checkpoints` file. */
  readonly witnesses?: readonly (() => Promise<string | null>)[];
}

interface HeldKey {
  readonly key: LogKey;
  readonly secret: KeyObject;
}

/** Signs with keys in files. Beside the key, or in a folder of its own, `.last` holds the last checkpoint that was signed, with its frontier, and `.pub` the public key. */
export function createLogSigner(files: LogKeyFiles): LogSigner {
  const held = new Map<string, HeldKey>();
  const beside = files.memoryFolder === undefined ? files.key : join(files.memoryFolder, basename(files.key));
  const memory = `${beside}.last`;
  /** The newest checkpoint that receivers had when this keeper made ready. */
  let witnessed: Remembered | null = null;

  const hold = (origin: string, secret: KeyObject): HeldKey => {
    const pair = { key: logKey(origin, createPublicKey(secret)), secret };
    held.set(pair.key.text, pair);
    return pair;
  };

  const heldKey = (keyText: string): HeldKey => {
    const pair = held.get(keyText);
    if (pair === undefined) throw missing(files.key, keyText);
    return pair;
  };

  const restoredFrom: LogSigner['restoredFrom'] = async (keys) => {
    if (files.restoredFrom === undefined) return null;
    const note = noteOf(await readFile(files.restoredFrom, 'utf8'));
    const opened = keys.map((key) => openNote(note, key)).find((checkpoint) => checkpoint !== null);
    if (opened !== undefined) return opened;
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_LOG_RESTORED_FROM: ${files.restoredFrom} is no checkpoint that a key of this log has signed.`,
    );
  };
  /** What was proved last: a checkpoint is held against the log before its row is written, and signed after. */
  let proved: { readonly text: string; readonly frontier: Frontier } | null = null;
  const ownMemory = async (origin: string): Promise<Remembered | null> => {
    const file = await readOrNull(memory);
    const read = file === null ? null : readMemory(memory, file);
    return read?.checkpoint.origin === origin ? read : null;
  };
  const prove = async (checkpoint: Checkpoint, store: SealStore): Promise<Frontier> => {
    const text = checkpointText(checkpoint);
    const own = await ownMemory(checkpoint.origin);
    const remembered = newer(own, witnessed);
    refuseOther(memory, checkpoint.number, text, remembered);
    if (proved?.text === text) return proved.frontier;
    const texts = files.restoredFrom === undefined ? [] : await store.keys();
    const frontier = await provenFrontier(checkpoint, store, {
      // a host without one computes the log anew where that is cheap: a receiver's word is no reason not to
      memory: own === null ? null : remembered,
      keys: [...held.values()].map(({ key }) => key),
      restoredFrom: await restoredFrom(texts.flatMap((key) => parseLogKey(key) ?? [])),
    });
    proved = { text, frontier };
    return frontier;
  };

  return {
    prepare: async (store, subject) => {
      const [origin, keys] = [await store.origin(), await store.keys()];
      const secret = await readSecret(files.key);
      if (secret === null && keys.length > 0) throw missing(files.key, keys.at(-1) ?? '');
      const first = hold(origin, secret ?? (await makeSecret(files.key)));
      const nextSecret = files.nextKey === undefined ? null : await readSecret(files.nextKey);
      if (files.nextKey !== undefined && nextSecret === null) throw missing(files.nextKey, 'the next key');
      const next = nextSecret === null ? null : hold(origin, nextSecret);
      if (keys.length === 0) await store.addFirstKey(first.key.text);
      const current = keys.at(-1) ?? first.key.text;
      if (!held.has(current)) throw missing(files.key, current);
      if (next !== null && current === first.key.text && current !== next.key.text)
        await store.rotateKey(next.key.text, keyRotation(subject, first, next));
      await writeWhole(`${beside}.pub`, `${keys[0] ?? first.key.text}\n`);
      const signers = [...held.values()].map(({ key }) => key);
      const known = [...signers, ...keys.flatMap((text) => parseLogKey(text) ?? [])];
      const isForgetful = (await ownMemory(origin)) === null && (await store.lastSigned()) !== null;
      witnessed = await askWitnesses(files.witnesses ?? [], known, isForgetful);
    },
    hold: async (checkpoint, store) => {
      await prove(checkpoint, store);
    },
    sign: async (checkpoint, keyText, store) => {
      const pair = heldKey(keyText);
      const text = checkpointText(checkpoint);
      const frontier = await prove(checkpoint, store);
      const note = composeNote(text, pair.key, sign(null, Buffer.from(text), pair.secret));
      await writeWhole(memory, memoryText(checkpoint, note, frontier));
      return note;
    },
    restoreEntry: async (subject, fromNumber, anchor, keyText) => {
      const last = newer(await ownMemory(anchor.origin), witnessed)?.checkpoint;
      // what was signed behind the anchor would be signed a second time
      if (last !== undefined && isBehind(anchor, last))
        throw new CodedError(
          'configuration_invalid',
          `LEMNISCATE_LOG_RESTORED_FROM names checkpoint ${anchor.number}, and checkpoint ${last.number} was signed after it. ` +
            `Name that one: ${memory} has it, or a receiver.`,
        );
      return restoreEntry(subject, fromNumber, anchor, heldKey(keyText));
    },
    restoredFrom,
  };
}

/** A signer's memory: it never signs behind what it has signed, nor two of one number. */
function refuseOther(memory: string, number: number, text: string, read: Remembered | null): void {
  if (read === null || read.checkpoint.number < number || read.text === text) return;
  throw new CodedError(
    'audit_chain_broken',
    `Checkpoint ${number} is refused: ${memory} holds checkpoint ${read.checkpoint.number}, which this database does not ` +
      'have. If the database was restored from a backup, set LEMNISCATE_LOG_RESTORED_FROM to the last checkpoint that the ' +
      'receivers have (this file may be it); if it was not, somebody has set it back.',
    { number, signed: read.checkpoint.number },
  );
}

async function readSecret(path: string): Promise<KeyObject | null> {
  const pem = await readOrNull(path);
  if (pem === null) return null;
  try {
    const secret = createPrivateKey(pem);
    if (secret.asymmetricKeyType === 'ed25519') return secret;
  } catch {
    // the reason could quote the file: the sentence below says what is needed
  }
  throw new CodedError('configuration_invalid', `${path} is no Ed25519 private key in PEM.`);
}

async function makeSecret(path: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync('ed25519');
  await mkdir(dirname(path), { recursive: true });
  await writeWhole(path, String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  return privateKey;
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whole or not at all, also when the machine goes down. */
async function writeWhole(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.new`, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
}

function missing(path: string, key: string): CodedError {
  return new CodedError(
    'configuration_invalid',
    `The audit log is signed by ${key}, whose private key is not at ${path}. Put it there; to change keys set ` +
      'LEMNISCATE_LOG_KEY_NEXT beside LEMNISCATE_LOG_KEY, so that the old one can hand over.',
  );
}
