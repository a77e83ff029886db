import { z } from 'zod';

/** `sha256` in lower-case hex: how content is addressed everywhere. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits');

/** A placement's number, minted by Postgres: the fencing token of every write, permit, model call and upload. */
export const attemptSchema = z.int().min(1).max(1_000_000);

/** A name that a database column takes. */
export const nameSchema = z.string().regex(/^[\w.:-]{1,128}$/, 'must be a name of letters, digits and _.:-');

/** Names a session on one server. */
export const heldSchema = z.object({ sessionId: nameSchema, attempt: attemptSchema });
export type Held = z.infer<typeof heldSchema>;

/** Roles that a certificate can name (`monitor` scrapes metrics and can do nothing else), in a URI `spiffe://lemniscate/<role>/<name>`. */
export const serviceRoles = ['dispatcher', 'agent-server', 'audit-exporter', 'monitor'] as const;
export type ServiceRole = (typeof serviceRoles)[number];

/** The URI of a service certificate. */
export function serviceUri(role: ServiceRole, name: string): string {
  return `spiffe://lemniscate/${role}/${name}`;
}

/** Reads role and name from a certificate's URI; null where it is not one of ours. */
export function parseServiceUri(uri: string): { role: ServiceRole; name: string } | null {
  const match = /^spiffe:\/\/lemniscate\/([a-z-]+)\/([A-Za-z0-9_.-]{1,64})$/.exec(uri);
  const role = serviceRoles.find((candidate) => candidate === match?.[1]);
  return role === undefined || match?.[2] === undefined ? null : { role, name: match[2] };
}
