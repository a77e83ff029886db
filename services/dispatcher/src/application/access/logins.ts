import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { refuseRevoked } from '../revocation/revoked-users.ts';
import { grantsOfPerson, sortGrants } from './role-bindings.ts';
import type { Grant } from './role-bindings.ts';
import { tokenHash } from './token-hash.ts';

/** What every login token begins with. */
export const loginTokenPrefix = 'lml_';

/** A person as the directory tells of them after a login. */
export interface DirectoryPerson {
  readonly subject: string;
  readonly name: string;
  readonly email: string | null;
  readonly groups: readonly string[];
}

/** Who administers the fleet before anybody has bound a role. From the configuration. */
export interface FirstAdministrators {
  readonly groups: readonly string[];
  readonly people: readonly string[];
}

export interface LoginDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly administrators: FirstAdministrators;
  /** Milliseconds until a login ends by itself. */
  readonly loginMs: number;
  readonly newSecret: () => string;
}

/** A login that was made, with the token that the person's client keeps. */
export interface NewLogin {
  readonly token: string;
  readonly expiresAt: string;
  readonly person: DirectoryPerson;
}

/**
 * Lets a person in after the issuer has vouched for them.
 * @throws CodedError `login_revoked`
 */
export async function openLogin(
  deps: LoginDeps,
  person: DirectoryPerson,
  how: 'browser' | 'device',
): Promise<NewLogin> {
  const token = `${loginTokenPrefix}${deps.newSecret()}`;
  const expiresAt = new Date(deps.clock.now().getTime() + deps.loginMs).toISOString();
  await deps.database.transaction(async (tx) => {
    await refuseRevoked(tx, [person.subject]);
    await tx.query(
      `INSERT INTO people (subject, name, email, groups) VALUES ($1, $2, $3, $4)
       ON CONFLICT (subject) DO UPDATE SET name = $2, email = $3, groups = $4, seen_at = now()`,
      [person.subject, person.name, person.email, JSON.stringify(person.groups)],
    );
    await tx.query('DELETE FROM logins WHERE expires_at < now()');
    await tx.query('INSERT INTO logins (token_hash, subject, how, expires_at) VALUES ($1, $2, $3, $4)', [
      tokenHash(token),
      person.subject,
      how,
      expiresAt,
    ]);
    await deps.audit.append(tx, fleetChain, [
      { type: 'login.accepted', subject: person.subject, body: { how, groups: person.groups.length } },
    ]);
  });
  return { token, expiresAt, person };
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

/** A person as a token of the issuer tells of them at this moment. */
export async function personOfDirectory(
  deps: { readonly database: Transaction; readonly administrators: FirstAdministrators },
  person: DirectoryPerson,
): Promise<Person> {
  const [row] = await deps.database.query<PersonRow>(
    `SELECT p.*, ${grantsOfPerson} AS grants FROM (SELECT $1::text AS subject, $2::text AS name, $3::jsonb AS groups) p`,
    [person.subject, person.name, JSON.stringify(person.groups)],
  );
  if (row === undefined) throw new Error('a person without a row');
  return { ...personOfRow(row, deps.administrators), kind: 'automation' };
}

/** Ends a login before its time. Anything that is not a login of ours is left alone. */
export async function closeLogin(
  deps: Pick<LoginDeps, 'database' | 'audit'>,
  token: string,
): Promise<boolean> {
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
