import { z } from 'zod';
import { createSessionSchema } from './session.ts';

export const environmentStates = ['building', 'ready', 'failed', 'expired'] as const;

/** One build of a project's environment; `session` is where its log is. */
export const environmentViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    state: z.enum(environmentStates),
    /** Digest of base image, prepare text, variables and lockfiles; null until a build that nobody waits for knows it. */
    key: z.string().nullable(),
    session: z.string(),
    /** `session`: one needed it; `person`; `schedule`. */
    cause: z.enum(['session', 'person', 'schedule']),
    bytes: z.int().nullable(),
    /** Of a failed one: why, with the last lines of its log. */
    message: z.string().nullable(),
    startedAt: z.string(),
    endedAt: z.string().nullable(),
    usedAt: z.string().nullable(),
  })
  .meta({ id: 'Environment' });
export type EnvironmentView = z.infer<typeof environmentViewSchema>;
export const environmentListSchema = z.object({ environments: z.array(environmentViewSchema) });

/** Body of `POST /v1/projects/:id/environments`: builds the environment that the repository needs now. */
export const buildEnvironmentSchema = z.strictObject({ repository: createSessionSchema.shape.repository });
