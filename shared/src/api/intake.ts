import { z } from 'zod';

/** What can be paused: everything, a pool, a project. */
export const intakeScopeSchema = z
  .string()
  .regex(
    /^(fleet|pool:[a-z][a-z0-9_-]{0,31}|project:[a-z0-9][a-z0-9._-]{0,62})$/,
    'must be fleet, pool:NAME or project:NAME',
  );

/** Body of `PUT /v1/intake/:scope`. */
export const pauseIntakeSchema = z.strictObject({ note: z.string().min(1).max(1000).optional() });

export const pausedIntakeSchema = z.object({
  scope: z.string(),
  pausedBy: z.string(),
  note: z.string().nullable(),
  pausedAt: z.string(),
  /** What `DELETE /v1/intake/:scope` sends as If-Match. */
  version: z.int(),
});
export type PausedIntake = z.infer<typeof pausedIntakeSchema>;
export const pausedIntakesSchema = z.object({ paused: z.array(pausedIntakeSchema) });

/** Body of `POST /v1/fleet/stop`: ends every session. */
export const stopFleetSchema = z.strictObject({
  /** Must read `stop everything`. */
  confirm: z.string(),
  note: z.string().min(1).max(1000).optional(),
});
export const stoppedFleetSchema = z.object({ sessionsEnded: z.int() });
