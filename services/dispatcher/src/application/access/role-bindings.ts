import type { RoleBinding } from '@lemniscate/shared/api/identity.ts';
import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject, isProjectRole, roles } from '@lemniscate/shared/identity/roles.ts';
import type { ProjectRole, Role } from '@lemniscate/shared/identity/roles.ts';
import { projectsWith, requireRole } from '../identity.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { unknownProject } from '../projects/project.ts';
import { changeSetting, versionOfSetting } from '../setting-version.ts';
import type { Setting } from '../setting-version.ts';

export interface BindingDeps {
  readonly database: Database;
  readonly audit: AuditLog;
}

/** A role and where it is held. */
export interface Grant {
  readonly role: Role;
  readonly project: string;
}

/** Splits grants into what is held everywhere and what is held in single projects. Unknown words grant nothing. */
export function sortGrants(grants: readonly Grant[]): Required<Pick<Person, 'roles' | 'projects'>> {
  const known = grants.filter(({ role }) => roles.includes(role));
  const everywhere = known.filter(({ project }) => project === everyProject).map(({ role }) => role);
  const projects: Record<string, ProjectRole[]> = {};
  for (const { role, project } of known)
    if (project !== everyProject && isProjectRole(role)) (projects[project] ??= []).push(role);
  return { roles: [...new Set(everywhere)], projects };
}

/** SQL for the grants of a person `p` (subject, groups) as JSON. */
export const grantsOfPerson = `coalesce((
  SELECT jsonb_agg(jsonb_build_object('role', b.role, 'project', b.project_id)) FROM role_bindings b
  WHERE (b.kind = 'person' AND b.principal = p.subject) OR (b.kind = 'group' AND p.groups ? b.principal)
), '[]')`;

/** Most people of one answer. */
const mostPeople = 1_000;

/** Those of the known people who hold one of the roles everywhere, or in the project. Bound people count unseen. */
export async function subjectsWith(
  tx: Transaction,
  project: string,
  wanted: readonly Role[],
): Promise<string[]> {
  const rows = await tx.query<{ subject: string }>(
    `SELECT p.subject FROM people p JOIN role_bindings b ON b.kind = 'group' AND p.groups ? b.principal
       WHERE b.role = ANY($2) AND b.project_id IN ('${everyProject}', $1)
     UNION SELECT b.principal FROM role_bindings b
       WHERE b.kind = 'person' AND b.role = ANY($2) AND b.project_id IN ('${everyProject}', $1)
     ORDER BY 1 LIMIT ${mostPeople}`,
    [project, wanted],
  );
  return rows.map(({ subject }) => subject);
}

const keyOf = ({ kind, principal, role, project }: RoleBinding): string[] => [kind, principal, role, project];

const settingOf = (binding: RoleBinding): Setting => ({
  table: 'role_bindings',
  key: keyOf(binding),
  what: `binding of ${binding.kind} "${binding.principal}" to ${binding.role}`,
});

/**
 * Binds a role. Whoever administers a project binds its roles; everything else is an administrator's.
 * @param seen the version of the binding that the caller saw; 0: there was none, so that nothing is bound again that
 *   somebody has just taken away
 * @returns the version after it
 * @throws CodedError `forbidden`, `project_unknown`, `version_conflict`
 */
export async function bindRole(
  deps: BindingDeps,
  person: Person,
  binding: RoleBinding,
  seen: number,
): Promise<number> {
  requireBinder(person, binding);
  return deps.database.transaction(async (tx) => {
    await requireProject(tx, binding.project);
    return changeSetting(tx, settingOf(binding), seen, async () => {
      const added = await tx.query(
        `INSERT INTO role_bindings (kind, principal, role, project_id, bound_by) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING role`,
        [...keyOf(binding), person.subject],
      );
      if (added.length > 0) await record(deps, tx, person, binding, 'role.bound');
    });
  });
}

/**
 * Takes a binding away; every later request sees it.
 * @param seen the version of the binding that the caller saw
 * @throws CodedError `forbidden`, `not_found`, `version_conflict`
 */
export async function unbindRole(
  deps: BindingDeps,
  person: Person,
  binding: RoleBinding,
  seen: number,
): Promise<void> {
  requireBinder(person, binding);
  await deps.database.transaction(async (tx) => {
    if ((await versionOfSetting(tx, settingOf(binding))) === 0)
      throw new CodedError(
        'not_found',
        `The ${binding.kind} "${binding.principal}" is not bound to ${binding.role} there. GET /v1/role-bindings lists what is.`,
      );
    await changeSetting(tx, settingOf(binding), seen, async () => {
      await tx.query(
        'DELETE FROM role_bindings WHERE kind = $1 AND principal = $2 AND role = $3 AND project_id = $4',
        keyOf(binding),
      );
      await record(deps, tx, person, binding, 'role.unbound');
    });
  });
}

// A project_admin of every project is not yet an administrator: else the role could make itself one.
function requireBinder(person: Person, { project }: RoleBinding): void {
  if (project === everyProject) requireRole(person, null, 'bind roles of the whole fleet', 'administrator');
  else requireRole(person, project, 'bind roles of this project', 'administrator', 'project_admin');
}

/** @throws CodedError `project_unknown` */
export async function requireProject(tx: Transaction, project: string): Promise<void> {
  if (project === everyProject) return;
  const [found] = await tx.query('SELECT 1 FROM projects WHERE id = $1', [project]);
  if (found === undefined) throw await unknownProject(tx, project);
}

function record(
  deps: BindingDeps,
  tx: Transaction,
  person: Person,
  { kind, principal, role, project }: RoleBinding,
  type: 'role.bound' | 'role.unbound',
): Promise<void> {
  const chain = project === everyProject ? fleetChain : reviewChain(project);
  return deps.audit.append(tx, chain, [
    { type, subject: person.subject, body: { role, project, principalKind: kind, principal } },
  ]);
}

interface BindingRow extends Record<string, unknown> {
  readonly kind: 'group' | 'person';
  readonly principal: string;
  readonly role: Role;
  readonly project_id: string;
  readonly bound_by: string;
  readonly bound_at: string;
  readonly version: number;
}

/** Most in one answer. */
const maxListed = 5_000;

/**
 * Bindings by project: every one for administrators and auditors, those of their projects for whoever administers some.
 */
export async function listBindings(
  database: Transaction,
  person: Person,
): Promise<
  (Pick<BindingRow, 'kind' | 'principal' | 'role' | 'version'> & {
    project: string;
    boundBy: string;
    boundAt: string;
  })[]
> {
  const rows = await database.query<BindingRow>(
    `SELECT kind, principal, role, project_id, bound_by, bound_at, version FROM role_bindings
     WHERE $1::text[] IS NULL OR project_id = ANY($1)
     ORDER BY project_id, role, kind, principal LIMIT ${maxListed}`,
    [projectsWith(person, 'project_admin', 'administrator', 'auditor')],
  );
  return rows.map(({ kind, principal, role, project_id, bound_by, bound_at, version }) => ({
    kind,
    principal,
    role,
    project: project_id,
    boundBy: bound_by,
    boundAt: bound_at,
    version,
  }));
}
