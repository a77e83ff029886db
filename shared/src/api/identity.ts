import { z } from 'zod';
import { everyProject, isProjectRole, roles } from '../identity/roles.ts';
import { scopes } from '../identity/scopes.ts';
import type { Scope } from '../identity/scopes.ts';
import { projectIdSchema } from './project.ts';

const line = /^[^\u0000-\u001f\u007f]+$/;
const printable = (max: number) => z.string().max(max).regex(line, 'must be one line of text');

/** A project's id, or `*` for every project. */
export const projectOrEverySchema = z.union([z.literal(everyProject), projectIdSchema]);

/** `GET /v1/me`: who the caller is here, and what that allows. */
export const meSchema = z.object({
  subject: z.string(),
  name: z.string(),
  kind: z.enum(['human', 'automation']),
  /** Held in every project. */
  roles: z.array(z.enum(roles)),
  /** Held in single projects, by project. */
  projects: z.record(z.string(), z.array(z.enum(roles))),
  /** Null: no narrower than the roles. */
  scopes: z.array(z.string()).nullable(),
  expiresAt: z.string().nullable(),
});

export type Me = z.infer<typeof meSchema>;

/** Gives a role to everybody in a group of the directory, or to one person. */
export const roleBindingSchema = z
  .strictObject({
    kind: z.enum(['group', 'person']),
    /** The group's name or the person's subject, as the directory has it. */
    principal: printable(256),
    role: z.enum(roles),
    project: projectOrEverySchema,
  })
  .refine(({ role, project }) => project === everyProject || isProjectRole(role), {
    path: ['project'],
    message: 'only member, approver and project_admin can be bound to one project',
  });
export type RoleBinding = z.output<typeof roleBindingSchema>;

export const roleBindingViewSchema = z.object({
  kind: z.enum(['group', 'person']),
  principal: z.string(),
  role: z.enum(roles),
  project: z.string(),
  boundBy: z.string(),
  boundAt: z.string(),
  /** What a change sends as If-Match. */
  version: z.int(),
});
export const roleBindingsSchema = z.object({ bindings: z.array(roleBindingViewSchema) });

export const scopeSchema = z.enum(scopes as [Scope, ...Scope[]]);

/** Body of `POST /v1/tokens`. */
export const createTokenSchema = z.strictObject({
  name: printable(100),
  project: projectOrEverySchema,
  roles: z.array(z.enum(roles)).min(1).max(roles.length),
  scopes: z.array(scopeSchema).min(1).max(scopes.length),
  /** Every token ends; a year at most. */
  expiresInDays: z.int().min(1).max(366),
});
export type CreateToken = z.output<typeof createTokenSchema>;

export const tokenViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  roles: z.array(z.enum(roles)),
  scopes: z.array(z.string()),
  createdBy: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  revokedAt: z.string().nullable(),
  usedAt: z.string().nullable(),
});
export type TokenView = z.infer<typeof tokenViewSchema>;
export const tokensSchema = z.object({ tokens: z.array(tokenViewSchema) });
/** The one time that the token itself is shown. */
export const createdTokenSchema = tokenViewSchema.extend({ token: z.string() });

/** `GET /v1/login/options`: `local` means that the login file of the machine is the only one. */
export const loginOptionsSchema = z.object({ kind: z.enum(['local', 'oidc']) });

/** `POST /v1/login/device`: what a client shows to its person; `handle` asks for the outcome. */
export const begunDeviceLoginSchema = z.object({
  handle: z.string(),
  userCode: z.string(),
  verificationUri: z.string(),
  verificationUriComplete: z.string().nullable(),
  intervalSeconds: z.number(),
  expiresInSeconds: z.number(),
});

/** `POST /v1/login/device/finish`. */
export const newLoginSchema = z.object({
  token: z.string(),
  expiresAt: z.string(),
  subject: z.string(),
  name: z.string(),
});
