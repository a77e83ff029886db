import { z } from 'zod';

/** One agent server as an operator sees it. */
export const serverViewSchema = z.object({
  id: z.string(),
  url: z.string(),
  pool: z.string(),
  capacity: z.int(),
  /** Slots that may be used now; 0 while something keeps it out of the rotation. */
  usable: z.int(),
  held: z.int(),
  warm: z.int(),
  driver: z.string().nullable(),
  architecture: z.string().nullable(),
  labels: z.array(z.string()),
  /** It says so itself: it is shutting down. */
  draining: z.boolean(),
  unhealthy: z.string().nullable(),
  /** An operator took it out of the rotation; what still runs there after the deadline is moved. */
  drained: z.boolean(),
  drainDeadline: z.string().nullable(),
  /** Why it gets no sessions; null: it does. */
  outBecause: z.string().nullable(),
  /** Slots that a newcomer may use until it has proved itself or is approved; null: all. */
  clamp: z.int().nullable(),
  /** Whose workstation it is. */
  pinnedTo: z.string().nullable(),
  seenAt: z.string().nullable(),
});
export type ServerView = z.infer<typeof serverViewSchema>;
export const serverListSchema = z.object({ servers: z.array(serverViewSchema) });

/** Body of `PUT /v1/servers/:id/drain`; without a deadline what runs there may finish. */
export const drainServerSchema = z.strictObject({ deadlineSeconds: z.int().min(0).max(604_800).optional() });
