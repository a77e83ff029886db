import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';

/** Ids of projects: they stand in addresses, chains and object keys. */
export const projectIdSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,62}$/,
    'must be 1 to 63 of a-z, 0-9, ".", "_" and "-", a letter or digit first',
  );

/** Body of `POST /v1/projects`; `policy` is YAML (JSON is YAML), absent: everything asks. */
export const createProjectSchema = z.strictObject({
  id: projectIdSchema,
  policy: z.string().optional(),
});

/** One project as the API shows it. */
export const projectViewSchema = z.object({
  id: z.string(),
  policyVersion: z.int(),
  policyDigest: z.string(),
  createdAt: z.string(),
});
export const projectListSchema = z.object({ projects: z.array(projectViewSchema) });

/** A version of a project's policy, as `GET /v1/projects/:id/policy` answers; its ETag is the version in quotes. */
export const policyVersionSchema = z
  .object({
    project: z.string(),
    version: z.int(),
    digest: z.string(),
    /** With every default filled in: what sessions are judged by. */
    policy: jsonObjectSchema,
    /** The author's text; null where there is none. */
    written: z.string().nullable(),
    /** `file`: the fleet's policy file at a start. */
    origin: z.enum(['api', 'file']),
    changedBy: z.string(),
    changedAt: z.string(),
  })
  .meta({ id: 'PolicyVersion' });
export type PolicyVersion = z.infer<typeof policyVersionSchema>;
export const policyVersionsSchema = z.object({
  versions: z.array(policyVersionSchema.omit({ policy: true, written: true })),
});
