/** What a person may be in the fleet. Groups of the directory map to these; a login without any is a member's. */
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
