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

/** Body of `log.restored`: the checkpoints behind `fromNumber` up to `anchorNumber` were lost with the old database. */
const restoreSchema = z.looseObject({
  epoch: z.int().min(1),
  /** Last checkpoint that the restored database has; -1 where it has none. */
  fromNumber: z.int().min(-1),
  anchorNumber: z.int().min(0),
  anchorSize: z.string().regex(/^\d+$/),
  anchorRoot: sha256Schema,
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

/**
 * The entry with which a restored database begins its new epoch.
 * @param fromNumber last checkpoint that it has; -1: none
 */
export function restoreEntry(subject: string, fromNumber: number, anchor: Checkpoint): AuditDraft {
  return {
    type: 'log.restored',
    subject,
    body: {
      epoch: anchor.epoch + 1,
      fromNumber,
      anchorNumber: anchor.number,
      anchorSize: String(anchor.size),
      anchorRoot: toHex(anchor.root),
    },
  };
}

/** What a `log.restored` entry says; null where it says nothing. */
export function readRestore(body: unknown): LogRestore | null {
  const parsed = restoreSchema.safeParse(body);
  return parsed.success ? parsed.data : null;
}
