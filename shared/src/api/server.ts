import { z } from 'zod';
import { placementName } from '../queue/placement-class.ts';

/** One agent server as an operator sees it. */
export const serverViewSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    pool: z.string(),
    /** Slots that it has: what it says itself, and no more than the fleet lets it have. */
    capacity: z.int(),
    /** Slots that may be used now; 0 while something keeps it out of the rotation. */
    usable: z.int(),
    /** Sessions that it says it holds, and those that it was given since. */
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
    /** Of drain, clamp and exclusion: what a drain, its end and an approval send as If-Match. */
    version: z.int(),
  })
  .meta({ id: 'Server' });
export type ServerView = z.infer<typeof serverViewSchema>;
export const serverListSchema = z.object({ servers: z.array(serverViewSchema) });

/** Body of `PUT /v1/servers/:id/drain`; without a deadline what runs there may finish. */
export const drainServerSchema = z.strictObject({ deadlineSeconds: z.int().min(0).max(604_800).optional() });

const publicKeySchema = z.string().min(1).max(4096);

/** Body of `POST /v1/server-invitations`: a token for one use, for this pool and the holder of this key. */
export const inviteServerSchema = z.strictObject({
  pool: z.string().regex(placementName, 'must be the name of a pool').default('default'),
  capacity: z.int().min(1).max(10_000),
  publicKeyPem: publicKeySchema,
});
export const invitationSchema = z.object({ token: z.string(), expiresAt: z.string() });

/** Body of `POST /v1/server-invitations/use`, which needs no login. */
export const joinServerSchema = z.strictObject({
  token: z.string().min(1).max(256),
  publicKeyPem: publicKeySchema,
  url: z.url().max(256),
  capacity: z.int().min(1).max(10_000),
});
export const joinedServerSchema = z.object({
  serverId: z.string(),
  certificatePem: z.string(),
  caPem: z.string(),
  internalUrl: z.string(),
});
