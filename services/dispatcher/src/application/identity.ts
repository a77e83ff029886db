import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ProjectRole, Role } from '@lemniscate/shared/identity/roles.ts';
import type { Scope } from '@lemniscate/shared/identity/scopes.ts';

/** Who calls the public API. `kind` is `human` only for an interactive login of a person. */
export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly kind: 'human' | 'automation';
  /** Held in every project. Absent: none. */
  readonly roles?: readonly Role[];
  /** Held in single projects, by project. */
  readonly projects?: Readonly<Record<string, readonly ProjectRole[]>>;
  /** What a service token is for; absent: everything that the roles allow. */
  readonly scopes?: readonly Scope[];
  /** When the login ends by itself. */
  readonly expiresAt?: string;
}

/** The person's roles in a project; null asks for what is held everywhere. */
export function rolesIn(person: Person, project: string | null): readonly Role[] {
  const here =
    project !== null && person.projects !== undefined && Object.hasOwn(person.projects, project)
      ? (person.projects[project] ?? [])
      : [];
  return [...(person.roles ?? []), ...here];
}

/** Whether the person has at least one of the roles in the project. */
export function hasRole(person: Person, project: string | null, ...wanted: readonly Role[]): boolean {
  const held = rolesIn(person, project);
  return wanted.some((role) => held.includes(role));
}

/** Whether the person has at least one of the roles anywhere. */
export function hasRoleSomewhere(person: Person, ...wanted: readonly Role[]): boolean {
  return (
    hasRole(person, null, ...wanted) ||
    Object.keys(person.projects ?? {}).some((project) => hasRole(person, project, ...wanted))
  );
}

/** Projects in which the person has one of the roles; null where it is held in every project. */
export function projectsWith(person: Person, ...wanted: readonly Role[]): readonly string[] | null {
  if (hasRole(person, null, ...wanted)) return null;
  return Object.keys(person.projects ?? {}).filter((project) => hasRole(person, project, ...wanted));
}

/** Projects whose sessions the person may look at; null: every project's. */
export function projectsSeenBy(person: Person): readonly string[] | null {
  return projectsWith(person, 'member', 'approver', 'project_admin', 'administrator', 'auditor');
}

/**
 * Refuses whoever has none of the roles.
 * @param act what was tried, as in "revoke a session"
 * @throws CodedError `forbidden`
 */
export function requireRole(
  person: Person,
  project: string | null,
  act: string,
  ...wanted: readonly Role[]
): void {
  if (hasRole(person, project, ...wanted)) return;
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

/** What a token is shown to. A token that the issuer made for the MCP endpoint opens nothing else. */
export type TokenAudience = 'api' | 'mcp';

/** Checks a bearer token. */
export interface Authenticator {
  /** @throws CodedError `unauthenticated` */
  authenticate(token: string | null, audience?: TokenAudience): Promise<Person>;
}
