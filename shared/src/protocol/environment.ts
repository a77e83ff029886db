import { z } from 'zod';
import { folderPathSchema } from '../agents/folder.ts';
import { environmentSchema } from '../policy/environment.ts';
import { sha256Schema } from './identity.ts';
import { readableObjectSchema } from './readable-object.ts';

/**
 * Paths of the workspace that came with the environment, such as `node_modules`: they are no part of anybody's work. What
 * the repository itself has at such a path still is.
 */
const installedPathsSchema = z.array(folderPathSchema).max(1000);

/** What a server has to know of a project's environment to name the one that a session needs. */
export const environmentOrderSchema = environmentSchema
  .pick({ prepare: true, lockfiles: true, variables: true })
  .extend({
    /** Of a session that goes on from a checkpoint: what its workspace has from the environment. */
    installed: installedPathsSchema.optional(),
  });
export type EnvironmentOrder = z.infer<typeof environmentOrderSchema>;

/** The session does not work: it prepares an environment. */
export const buildOrderSchema = z.object({
  environmentId: z.string().max(64),
  maxSeconds: z.int().min(1),
  allowSecretsIn: z.array(z.string()).max(500),
});

/** `POST /internal/sessions/:id/attempts/:attempt/environment`: the environment that the session needs. */
export const resolveEnvironmentSchema = z.strictObject({
  key: sha256Schema,
  /** The commit that the session begins from. */
  commit: z.string().regex(/^[0-9a-f]{40,64}$/),
});
export type ResolveEnvironment = z.infer<typeof resolveEnvironmentSchema>;

export const resolvedEnvironmentSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ready'),
    environmentId: z.string(),
    archive: readableObjectSchema,
    installed: installedPathsSchema,
  }),
  /** The session goes on without, as its policy says. */
  z.object({ kind: z.literal('without'), why: z.string().max(4096) }),
  /** The attempt is over: the session waits in the queue until the environment is there. */
  z.object({ kind: z.literal('parked') }),
  z.object({ kind: z.literal('failed'), message: z.string().max(16_384) }),
]);
export type ResolvedEnvironment = z.infer<typeof resolvedEnvironmentSchema>;

/** Part of a result: the environment that was built, its archive uploaded before. */
export const builtEnvironmentSchema = z.strictObject({
  key: sha256Schema,
  archive: z.strictObject({ sha256: sha256Schema, bytes: z.int().min(1) }),
  installed: installedPathsSchema,
});
export type BuiltEnvironment = z.infer<typeof builtEnvironmentSchema>;
