import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Authenticator } from '../identity.ts';
import { sharedCall } from '../in-batches.ts';
import { keepPlans } from '../ordered-look.ts';
import type { Transaction } from '../ports/transaction.ts';

/** Somebody whose access was taken away. */
export interface RevokedUser extends Record<string, unknown> {
  readonly subject: string;
  readonly revoked_by: string;
  readonly note: string | null;
  readonly revoked_at: string;
  readonly version: number;
}

/**
 * Makes opening a session and revoking its person take turns: whichever is second sees what the first one wrote. Held
 * to the end of the transaction, shared among openings, which keep their plans (`keepPlans`).
 */
export async function takeTurns(
  tx: Transaction,
  subjects: readonly string[],
  as: 'opening' | 'revoking',
): Promise<void> {
  const isOpening = as === 'opening';
  const lock = isOpening ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  // Sorted by the caller, so that two who lock several cannot wait for each other in a ring.
  await tx.query(
    `SELECT count(${lock}(hashtextextended('revocation:' || subject, 0))::text)${isOpening ? `, ${keepPlans}` : ''} FROM unnest($1::text[]) AS given (subject)`,
    [subjects],
  );
}

/**
 * Condition for statements that count what people have said: somebody whose access was taken away counts no more where
 * others still have to join them.
 * @param subject a column
 * @param at the moment that counts, as SQL
 */
export const stillHasAccess = (subject: string, at = 'now()'): string =>
  `NOT EXISTS (SELECT FROM revoked_users r WHERE r.subject = ${subject} AND r.revoked_at <= ${at})`;

/** @throws CodedError `login_revoked` */
export async function refuseRevoked(tx: Transaction, subjects: readonly string[]): Promise<void> {
  const [row] = await tx.query<{ subject: string; revoked_at: string }>(
    'SELECT subject, revoked_at FROM revoked_users WHERE subject = ANY ($1) LIMIT 1',
    [subjects],
  );
  if (row === undefined) return;
  const { subject } = row;
  throw new CodedError(
    'login_revoked',
    `The access of ${subject} was revoked at ${row.revoked_at}. Ask an administrator.`,
    { subject },
  );
}

/** A login counts only while nobody has revoked its person; asked anew for every request. */
export function withRevocation(authenticator: Authenticator, database: Transaction): Authenticator {
  const look = sharedCall((subject: string) => refuseRevoked(database, [subject]));
  return {
    authenticate: async (...given) => {
      const person = await authenticator.authenticate(...given);
      await look(person.subject);
      return person;
    },
  };
}

/** Most in one answer. */
const maxListed = 1_000;

/** Everybody whose access is revoked, the newest first. */
export function listRevokedUsers(database: Transaction): Promise<RevokedUser[]> {
  return database.query<RevokedUser>(
    `SELECT subject, revoked_by, note, revoked_at, version FROM revoked_users ORDER BY revoked_at DESC, subject LIMIT ${maxListed}`,
  );
}
