/** Rooms of the public API, as the scopes of service tokens name them. */
export const areas = [
  'sessions',
  'approvals',
  'diffs',
  'projects',
  'agents',
  'objects',
  'triggers',
  'audit',
  'costs',
  'servers',
  'access',
] as const;
export type Area = (typeof areas)[number];

export const scopes = areas.flatMap((area) => [`${area}:read`, `${area}:write`] as const);
/** What a service token may do at all; its roles still have to allow it. */
export type Scope = `${Area}:${'read' | 'write'}`;

/** The scope that a request takes. Reading is what HTTP calls safe. */
export function scopeOf(area: Area, method: string): Scope {
  return `${area}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}`;
}
