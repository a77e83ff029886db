/** What a person may be. Groups of the directory are bound to these; whoever has none of them sees nothing. */
export const roles = [
  'member',
  'approver',
  'project_admin',
  'administrator',
  'auditor',
  'finops',
  'operator',
] as const;
export type Role = (typeof roles)[number];

/** Roles that can be held in a single project. The others are the fleet's, and always held everywhere. */
export const projectRoles = ['member', 'approver', 'project_admin'] as const satisfies readonly Role[];
export type ProjectRole = (typeof projectRoles)[number];

/** Stands for every project in a binding. */
export const everyProject = '*';

/** Whether the role can be bound to one project. */
export function isProjectRole(role: Role): role is ProjectRole {
  return (projectRoles as readonly Role[]).includes(role);
}
