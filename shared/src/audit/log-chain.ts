import { sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';
import { parseLogKey } from './checkpoint.ts';
import type { Checkpoint, LogKey } from './checkpoint.ts';
import { framed, toHex } from './digest.ts';
import type { AuditDraft } from './entry.ts';

/** The chain in which the log speaks of itself: its keys, its restores, and what it could not deliver. */
export const logChain = 'log:main';

/** Body of `log.key_rotated`: both keys sign the hand-over, so neither can be slipped in without the other. */
const keyRotationSchema = z.looseObject({
  oldKey: z.string(),
  newKey: z.string(),
  oldSignature: z.base64(),
  newSignature: z.base64(),
});

/**
 * Body of `log.restored`: the checkpoints behind `fromNumber` up to `anchorNumber` were lost with the old database. The
 * key that signs the log signs this too: the entry alone could be written by anybody who has the database.
 */
const restoreSchema = z.looseObject({
  /** The new one; the anchor is of the epoch before it. */
  epoch: z.int().min(1),
  /** Last checkpoint that the restored database has; -1 where it has none. */
  fromNumber: z.int().min(-1),
  anchorNumber: z.int().min(0),
  anchorSize: z.string().regex(/^\d{1,16}$/),
  anchorRoot: sha256Schema,
  key: z.string(),
  signature: z.base64(),
});
export type LogRestore = z.infer<typeof restoreSchema>;

const rotationStatement = (oldKey: LogKey, newKey: LogKey): Buffer =>
  framed('lemniscate/audit/key-rotation/v1', [Buffer.from(oldKey.text), Buffer.from(newKey.text)]);

/** The entry that hands the log over from one key to the next. */
export function keyRotation(
  subject: string,
  before: { readonly key: LogKey; readonly secret: KeyObject },
  after: { readonly key: LogKey; readonly secret: KeyObject },
): AuditDraft {
  const statement = rotationStatement(before.key, after.key);
  return {
    type: 'log.key_rotated',
    subject,
    body: {
      oldKey: before.key.text,
      newKey: after.key.text,
      oldSignature: sign(null, statement, before.secret).toString('base64'),
      newSignature: sign(null, statement, after.secret).toString('base64'),
    },
  };
}

/** The key that a rotation hands over to, when `current` has agreed to it; null otherwise. */
export function acceptRotation(body: unknown, current: LogKey): LogKey | null {
  const parsed = keyRotationSchema.safeParse(body);
  if (!parsed.success || parsed.data.oldKey !== current.text) return null;
  const next = parseLogKey(parsed.data.newKey);
  if (next === null || next.name !== current.name) return null;
  const statement = rotationStatement(current, next);
  const agreed = (key: LogKey, signature: string): boolean =>
    verify(null, statement, key.publicKey, Buffer.from(signature, 'base64'));
  return agreed(current, parsed.data.oldSignature) && agreed(next, parsed.data.newSignature) ? next : null;
}

type RestoreClaim = Pick<
  LogRestore,
  'epoch' | 'fromNumber' | 'anchorNumber' | 'anchorSize' | 'anchorRoot' | 'key'
>;
const restoreStatement = (claim: RestoreClaim): Buffer =>
  framed('lemniscate/audit/restore/v1', [
    Buffer.from(claim.key),
    Buffer.from(String(claim.epoch)),
    Buffer.from(String(claim.fromNumber)),
    Buffer.from(String(claim.anchorNumber)),
    Buffer.from(claim.anchorSize),
    Buffer.from(claim.anchorRoot),
  ]);

/**
 * The entry with which a restored database begins its new epoch.
 * @param fromNumber last checkpoint that it has; -1: none
 * @param current the key that signs the log where the entry comes
 */
export function restoreEntry(
  subject: string,
  fromNumber: number,
  anchor: Checkpoint,
  current: { readonly key: LogKey; readonly secret: KeyObject },
): AuditDraft {
  const claim: RestoreClaim = {
    epoch: anchor.epoch + 1,
    fromNumber,
    anchorNumber: anchor.number,
    anchorSize: String(anchor.size),
    anchorRoot: toHex(anchor.root),
    key: current.key.text,
  };
  const signature = sign(null, restoreStatement(claim), current.secret).toString('base64');
  return { type: 'log.restored', subject, body: { ...claim, signature } };
}

/** What a `log.restored` entry says; null where `current` has not signed it. */
export function readRestore(body: unknown, current: LogKey): LogRestore | null {
  const parsed = restoreSchema.safeParse(body);
  if (!parsed.success || parsed.data.key !== current.text) return null;
  const { fromNumber, anchorNumber, signature } = parsed.data;
  if (fromNumber > anchorNumber) return null;
  const statement = restoreStatement(parsed.data);
  return verify(null, statement, current.publicKey, Buffer.from(signature, 'base64')) ? parsed.data : null;
}

/**
 * Whether a checkpoint can be of the history that a restore says was lost: the anchor itself as it is cited, and of the
 * anchor's epoch nothing before it that covers more.
 */
export function agreesWithRestore(
  { epoch, anchorNumber, anchorSize, anchorRoot }: LogRestore,
  known: Checkpoint,
): boolean {
  if (known.number > anchorNumber || known.epoch >= epoch) return true;
  if (known.number === anchorNumber)
    return known.epoch === epoch - 1 && String(known.size) === anchorSize && toHex(known.root) === anchorRoot;
  return known.epoch < epoch - 1 || known.size <= Number(anchorSize);
}
