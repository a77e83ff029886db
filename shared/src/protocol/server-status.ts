import { z } from 'zod';
import { heldSchema, nameSchema } from './identity.ts';
import { placementName } from '../queue/placement-class.ts';
import { serverCommandSchema } from './session-order.ts';

/** `GET /status` of an agent server, and the body of its heartbeat. The identity is the certificate's, not the body's. */
export const serverStatusSchema = z.object({
  /** A newer one than ours says more than we read, and is ordered what we know. */
  protocol: z.int().min(0),
  /** New with each start of the process: a changed one means that all sandboxes of the former are gone. */
  bootId: nameSchema,
  capacity: z.int().min(0).max(100_000),
  held: z.array(heldSchema).max(100_000),
  warm: z.int().min(0),
  /** Claims since the start that found no warm sandbox. */
  coldStarts: z.int().min(0).optional(),
  driver: z.string(),
  profiles: z.array(z.string()),
  /** Agent runtimes that it can drive beside `native`. Absent, as everything below: a server of an older version. */
  runtimes: z.array(nameSchema).max(64).optional(),
  /** Node's name of the processor, such as `x64`. */
  architecture: nameSchema.optional(),
  /** What its operator says of it, for sessions that ask for it. */
  labels: z.array(z.string().regex(placementName, 'must be a name')).max(64).optional(),
  /** Its clock when it said this, and the disk that holds its sandboxes. */
  now: z.iso.datetime().optional(),
  disk: z.object({ freeBytes: z.number().min(0), totalBytes: z.number().min(0) }).optional(),
  /** Keys of the repositories that it has at hand. */
  mirrors: z.array(z.string().max(64)).max(256).optional(),
  draining: z.boolean(),
  /** What it is set to, name to value, with the first heartbeats of a start: no secrets are among its settings. */
  settings: z.record(z.string().max(128), z.string().max(4096)).optional(),
  /** Why it takes no sessions at the moment, for the operator; absent while healthy. */
  unhealthy: z.string().optional(),
});
export type ServerStatus = z.infer<typeof serverStatusSchema>;

/** Answer to `POST /internal/servers/heartbeat`. */
export const heartbeatAnswerSchema = z.object({
  /** Renewed leases, counted by the server from when it *sent* the heartbeat. */
  leases: z.array(heldSchema.extend({ leaseMs: z.int().min(1) })),
  /** Attempts that are no longer this server's: destroy them. */
  stale: z.array(heldSchema),
  commands: z.array(serverCommandSchema),
  /** Sessions that are to be paused. Not among the commands, which an older server would refuse as a whole. */
  pauses: z.array(heldSchema.extend({ reason: z.string() })).default([]),
});
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswerSchema>;
