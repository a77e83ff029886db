import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';

/** Who calls the public API. `kind` is `human` only for an interactive login of a person. */
export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly kind: 'human' | 'automation';
  /** Absent: a member and nothing more. */
  readonly roles?: readonly Role[];
}

/** Whether the person has at least one of the roles. */
export function hasRole(person: Person, ...wanted: readonly Role[]): boolean {
  return wanted.some((role) => person.roles?.includes(role) === true);
}

/**
 * Refuses whoever has none of the roles.
 * @param act what was tried, as in "revoke a session"
 * @throws CodedError `forbidden`
 */
export function requireRole(person: Person, act: string, ...wanted: readonly Role[]): void {
  if (hasRole(person, ...wanted)) return;
  throw new CodedError(
    'forbidden',
    `${person.name} may not ${act}: that takes the role ${wanted.join(' or ')}. Ask an administrator.`,
    { roles: wanted },
  );
}

/** The agent server behind a mutual TLS connection, as its certificate names it. */
export interface ServerPeer {
  readonly serverId: string;
}

/** Checks a bearer token. */
export interface Authenticator {
  /** @throws CodedError `unauthenticated` */
  authenticate(token: string | null): Promise<Person>;
}
