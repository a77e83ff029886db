import { z } from 'zod';
import { placementName } from '../queue/placement-class.ts';

const name = z.string().regex(placementName, 'must be a name of a-z, 0-9, "_" and "-", a letter first');

/** How a project's sessions queue: `GET` and `PUT /v1/projects/:id/queue`. */
export const queueSettingsSchema = z.object({
  pool: name,
  /** What every session of it needs; null and none: any server of the pool. */
  architecture: name.nullable(),
  labels: z.array(name).max(16),
  /** Share of the slots against other projects that wait. */
  weight: z.int().min(1).max(1000),
  /** Sessions at once; null: as many as its turns give it. */
  maxConcurrent: z.int().min(0).max(1_000_000).nullable(),
  /** Sessions that may wait; null: the fleet's bound. */
  maxBacklog: z.int().min(0).max(10_000_000).nullable(),
  /** How long one may wait; null: the fleet's bound. */
  maxWaitSeconds: z.int().min(1).max(604_800).nullable(),
});
export type QueueSettings = z.infer<typeof queueSettingsSchema>;

/** What is left out stays as it is. */
export const changeQueueSettingsSchema = z.strictObject(queueSettingsSchema.partial().shape);
