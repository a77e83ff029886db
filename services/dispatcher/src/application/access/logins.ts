import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { grantsOfPerson, sortGrants } from './role-bindings.ts';
import type { Grant } from './role-bindings.ts';
import { tokenHash } from './token-hash.ts';

/** What every login token begins with. */
export const loginTokenPrefix = 'lml_';

/** Who administers the fleet before anybody has bound a role. From the configuration. */
export interface FirstAdministrators {
  readonly groups: readonly string[];
  readonly people: readonly string[];
}

export interface LoginDeps {
  readonly database: Database;
  readonly audit: AuditLog;
}

interface PersonRow extends Record<string, unknown> {
  readonly subject: string;
  readonly name: string;
  readonly groups: string[];
  readonly grants: Grant[];
}

/**
 * Whose login it is, with the roles that bindings give at this moment.
 * @throws CodedError `unauthenticated`
 */
export async function authenticateLogin(
  deps: { readonly database: Transaction; readonly administrators: FirstAdministrators },
  token: string,
): Promise<Person> {
  const [row] = await deps.database.query<PersonRow & { expires_at: string; over: boolean }>(
    `SELECT p.subject, p.name, p.groups, ${grantsOfPerson} AS grants, l.expires_at, l.expires_at <= now() AS over
     FROM logins l JOIN people p ON p.subject = l.subject WHERE l.token_hash = $1`,
    [tokenHash(token)],
  );
  if (row === undefined || row.over)
    throw new CodedError(
      'unauthenticated',
      'The login is over or not known here. Log in again: lemniscate login.',
    );
  return { ...personOfRow(row, deps.administrators), kind: 'human', expiresAt: row.expires_at };
}

function personOfRow(row: PersonRow, first: FirstAdministrators) {
  const isFirst =
    first.people.includes(row.subject) || row.groups.some((group) => first.groups.includes(group));
  const grants: Grant[] = isFirst
    ? [...row.grants, { role: 'administrator', project: everyProject }]
    : row.grants;
  return { subject: row.subject, name: row.name, ...sortGrants(grants) };
}

/** Ends a login before its time. Anything that is not a login of ours is left alone. */
export async function closeLogin(deps: LoginDeps, token: string): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    const [row] = await tx.query<{ subject: string }>(
      'DELETE FROM logins WHERE token_hash = $1 RETURNING subject',
      [tokenHash(token)],
    );
    if (row === undefined) return false;
    await deps.audit.append(tx, fleetChain, [{ type: 'login.ended', subject: row.subject, body: {} }]);
    return true;
  });
}
