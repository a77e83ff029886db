import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import { personOfDirectory } from './logins.ts';
import type { FirstAdministrators } from './logins.ts';
import { findToken } from './service-tokens.ts';

/**
 * Who a subject is at this moment, with the roles that bindings give; null for somebody whom nobody knows. What is done
 * in their name is automation: nobody sits in front of it.
 */
export type FindPerson = (tx: Transaction, subject: string) => Promise<Person | null>;

/** Looks among the people of whom the directory has told at a login, then among tokens, then asks for the local one. */
export function createFindPerson(
  administrators: FirstAdministrators,
  local: ((subject: string) => Promise<Person | null>) | null,
): FindPerson {
  return async (tx, subject) => {
    const [row] = await tx.query<{ subject: string; name: string; email: string | null; groups: string[] }>(
      'SELECT subject, name, email, groups FROM people WHERE subject = $1',
      [subject],
    );
    if (row !== undefined) return personOfDirectory({ database: tx, administrators }, row);
    const found = (await findToken(tx, subject)) ?? (await local?.(subject));
    return found === null || found === undefined ? null : { ...found, kind: 'automation' };
  };
}
