import { z } from 'zod';

/** A pool of agent servers: what scaling needs to know, and what it is advised to do. */
export const poolViewSchema = z.object({
  pool: z.string(),
  servers: z.int(),
  /** Slots that may be used now, and sessions that occupy one. */
  slots: z.int(),
  held: z.int(),
  warm: z.int(),
  /** Sandboxes that had to be started while their session waited, since the servers' starts. */
  warmMisses: z.int(),
  waiting: z.int(),
  /** How long the one that has waited longest waits; null: nothing waits. */
  queueAgeSeconds: z.number().nullable(),
  startsPerSecond: z.number(),
  /** Fills one server after the other instead of spreading. */
  packing: z.boolean(),
  /** What `PUT /v1/pools/:pool` sends as If-Match; 0: nobody has set anything. */
  version: z.int(),
  wantedSlots: z.int(),
  wantedServers: z.int(),
  action: z.enum(['out', 'in', 'stay']),
  /** Which servers to drain when scaling in, the emptiest first. */
  drain: z.array(z.string()),
});
export type PoolView = z.infer<typeof poolViewSchema>;
export const poolListSchema = z.object({ pools: z.array(poolViewSchema) });

/** Body of `PUT /v1/pools/:pool`. */
export const changePoolSchema = z.strictObject({ packing: z.boolean() });
