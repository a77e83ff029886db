import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { scopeOf } from '@lemniscate/shared/identity/scopes.ts';
import type { Area } from '@lemniscate/shared/identity/scopes.ts';
import { hasRole, hasRoleSomewhere, rolesIn } from '../identity.ts';
import type { Person } from '../identity.ts';

/** Who may use a route. */
export interface AccessRule {
  /** Which scope a service token needs; reading or writing follows from the method. */
  readonly area: Area;
  /** Any of these roles, held in the thing's project or everywhere. */
  readonly who: readonly Role[];
  /** Roles that suffice for a session that the person opened. */
  readonly own?: readonly Role[];
}

/**
 * What a request is about. `fleet`: nothing of a single project, so the role must be held everywhere. `somewhere`: a
 * role in any project will do, and the answer holds nothing of other projects.
 */
export type AccessPlace =
  | { readonly kind: 'fleet' }
  | { readonly kind: 'somewhere' }
  | { readonly kind: 'project'; readonly project: string }
  | {
      readonly kind: 'session';
      readonly session: string;
      /** Null: there is no such session. */
      readonly found: { readonly project: string; readonly openedBy: string } | null;
    };

/**
 * Decides whether the person may do this. A thing of a project in which the person has no role at all is answered as
 * if it did not exist: its name tells a stranger nothing.
 * @throws CodedError `forbidden`, `session_unknown`, `project_unknown`
 */
export function checkAccess(person: Person, rule: AccessRule, method: string, place: AccessPlace): void {
  checkScope(person, rule, method);
  // A role held everywhere decides without a look at the thing.
  if (hasRole(person, null, ...rule.who)) return;
  switch (place.kind) {
    case 'fleet':
      throw missingRole(person, rule);
    case 'somewhere':
      if (hasRoleSomewhere(person, ...rule.who)) return;
      throw missingRole(person, rule);
    case 'project':
      if (hasRole(person, place.project, ...rule.who)) return;
      if (rolesIn(person, place.project).length > 0) throw missingRole(person, rule);
      throw new CodedError(
        'project_unknown',
        `There is no project "${place.project}" for ${person.name}. GET /v1/projects lists yours.`,
        { project: place.project },
      );
    case 'session': {
      const { found } = place;
      if (found === null || rolesIn(person, found.project).length === 0) throw unknownSession(place.session);
      const owns = found.openedBy === person.subject && hasRole(person, found.project, ...(rule.own ?? []));
      if (owns || hasRole(person, found.project, ...rule.who)) return;
      throw missingRole(person, rule);
    }
  }
}

function checkScope(person: Person, rule: AccessRule, method: string): void {
  const scope = scopeOf(rule.area, method);
  if (person.scopes === undefined || person.scopes.includes(scope)) return;
  throw new CodedError(
    'forbidden',
    `The token "${person.name}" does not have the scope ${scope}. Make one that has it.`,
    { scope },
  );
}

function missingRole(person: Person, rule: AccessRule): CodedError {
  const wanted = [...rule.who, ...(rule.own ?? []).map((role) => `${role} (of an own session)`)];
  return new CodedError(
    'forbidden',
    `${person.name} may not do this: it takes the role ${wanted.join(' or ')}. Ask an administrator.`,
    { roles: rule.who },
  );
}

// The same answer as for a session that never was.
function unknownSession(session: string): CodedError {
  return new CodedError('session_unknown', `There is no session ${session}. GET /v1/sessions lists them.`, {
    session,
  });
}
