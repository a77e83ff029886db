import { z } from 'zod';
import { actorSchema } from './object.ts';

/** What can start a session beside a direct call. */
export const causes = ['assignment', 'mention', 'reply', 'cron', 'event', 'label', 'pipeline'] as const;
export type Cause = (typeof causes)[number];

/** Why nothing was started: stable words, with a sentence beside them. */
export const refusals = [
  'own_comment',
  'loop_depth',
  'actor_unknown',
  'actor_not_member',
  'owner_disabled',
  'owner_not_member',
  'agent_unknown',
  'repository_missing',
  'rate_limited',
  'duplicate',
  'no_match',
  'trigger_disabled',
  'session_refused',
  'signature_refused',
  'stale',
  'unreadable',
] as const;
export type Refusal = (typeof refusals)[number];

export const deliveryStates = ['pending', 'started', 'refused', 'ignored'] as const;

/** One thing that asked for a session, and what became of it. */
export const deliverySchema = z.object({
  id: z.string(),
  project: z.string(),
  cause: z.string(),
  state: z.enum(deliveryStates),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  agent: z.string().nullable(),
  owner: z.string().nullable(),
  actor: actorSchema.nullable(),
  trigger: z.string().nullable(),
  hook: z.string().nullable(),
  /** Its id at the sender. */
  externalId: z.string().nullable(),
  object: z.string().nullable(),
  session: z.string().nullable(),
  at: z.string(),
});
export type DeliveryView = z.infer<typeof deliverySchema>;
export const deliveryPageSchema = z.object({
  deliveries: z.array(deliverySchema),
  nextCursor: z.string().nullable(),
});
