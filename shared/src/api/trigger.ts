import { z } from 'zod';
import { idPattern } from '../id.ts';
import { repositorySourceSchema } from '../repository/source.ts';
import { cloudEventSchema } from '../triggers/cloud-event.ts';
import { eventFiltersSchema } from '../triggers/event-filter.ts';
import { agentIdSchema } from './agent.ts';
import { projectIdSchema } from './project.ts';

export const triggerIdSchema = z.string().regex(idPattern('trigger'), 'must be the id of a trigger');
export const hookIdSchema = z.string().regex(idPattern('hook'), 'must be the id of a hook');

const name = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\u0000-\u001f\u007f]+$/, 'must be one line of text');

/** What becomes of the times that passed while no dispatcher ran. */
export const misfirePolicies = ['skip', 'once', 'all'] as const;

const cronSchema = z.strictObject({
  kind: z.literal('cron'),
  /** Minute, hour, day of the month, month, day of the week. */
  pattern: z.string().min(5).max(200),
  /** A name such as Europe/Berlin. */
  timeZone: z
    .string()
    .max(64)
    .refine((zone) => isTimeZone(zone), 'must be a time zone such as Europe/Berlin')
    .default('UTC'),
  /** `skip`: none of them; `once`: one for all of them; `all`: each, the newest hundred. */
  misfire: z.enum(misfirePolicies).default('once'),
});
export type CronSchedule = z.output<typeof cronSchema>;

const eventSchema = z.strictObject({
  kind: z.literal('event'),
  /** All of them have to fit. */
  filters: eventFiltersSchema,
});

/** What a trigger is. Whoever writes it owns it, and its sessions run with their rights. */
export const triggerDefinitionSchema = z.strictObject({
  name,
  agent: agentIdSchema,
  /** What its sessions are to do. */
  task: z.string().min(1).max(20_000),
  /** Absent: the repository of the event's object, else the project's. */
  repository: repositorySourceSchema.optional(),
  model: z.string().min(1).max(128).optional(),
  when: z.discriminatedUnion('kind', [cronSchema, eventSchema]),
  enabled: z.boolean().default(true),
});
export type TriggerDefinition = z.output<typeof triggerDefinitionSchema>;

/** Body of `POST /v1/triggers`. */
export const createTriggerSchema = z.strictObject({
  project: projectIdSchema,
  definition: triggerDefinitionSchema,
});

/** One trigger; the ETag is the version in quotes. */
export const triggerViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    version: z.int(),
    owner: z.string(),
    definition: triggerDefinitionSchema,
    enabled: z.boolean(),
    /** Why the fleet has put it out of use. */
    disabledReason: z.string().nullable(),
    /** Of a schedule: when it is due next. */
    nextAt: z.string().nullable(),
    createdAt: z.string(),
    changedAt: z.string(),
  })
  .meta({ id: 'Trigger' });
export type TriggerView = z.infer<typeof triggerViewSchema>;
export const triggerListSchema = z.object({ triggers: z.array(triggerViewSchema) });

/** Body of `POST /v1/triggers/try`: nothing is started. */
export const tryTriggerSchema = z.strictObject({
  project: projectIdSchema,
  when: z.discriminatedUnion('kind', [cronSchema, eventSchema]),
  /** Of filters: what they are tried on. */
  event: cloudEventSchema.optional(),
});
export const triedTriggerSchema = z.object({
  /** Null for a schedule. */
  matches: z.boolean().nullable(),
  /** Filters that the event does not pass. */
  unmatched: z.array(z.string()),
  /** Of a schedule: the next five times, in UTC. */
  next: z.array(z.string()),
});

/** `POST /v1/events`: which triggers it has set off. */
export const takenEventSchema = z.object({
  /** The same event came before: nothing is started again. */
  duplicate: z.boolean(),
  deliveries: z.array(z.string()),
});

/** Systems whose webhooks are taken. */
export const webhookSources = ['github', 'gitlab', 'slack'] as const;
export type WebhookSourceName = (typeof webhookSources)[number];

/** What a hook does with what it is told. */
export const hookDefinitionSchema = z.strictObject({
  name,
  /** Whether `@agent` in a comment, and an answer to an agent's comment, start sessions. */
  mentions: z.boolean().default(true),
  /** Whom a mention of the app asks that names no agent, as in Slack. */
  agent: agentIdSchema.optional(),
  /** What sessions work on, whatever the system names. */
  repository: repositorySourceSchema.optional(),
  enabled: z.boolean().default(true),
});
export type HookDefinition = z.output<typeof hookDefinitionSchema>;

/** Printable, as it is typed into the other system. */
const secretSchema = z
  .string()
  .min(16)
  .max(256)
  .regex(/^[\x21-\x7e]+$/, 'must be printable characters')
  // base64 that cannot be read is an empty key, under which anybody could sign
  .regex(
    /^(?!whsec_)|^whsec_[A-Za-z0-9+/]{32,}={0,2}$/,
    'must have at least 24 bytes in base64 behind whsec_',
  );

/** Body of `POST /v1/hooks`; without a secret one is made. */
export const createHookSchema = z.strictObject({
  project: projectIdSchema,
  source: z.enum(webhookSources),
  definition: hookDefinitionSchema,
  secret: secretSchema.optional(),
});
/** Body of `PUT /v1/hooks/:hook`; without a secret the former one stays. */
export const changeHookSchema = z.strictObject({
  definition: hookDefinitionSchema,
  secret: secretSchema.optional(),
});

export const hookViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    version: z.int(),
    source: z.string(),
    owner: z.string(),
    definition: hookDefinitionSchema,
    enabled: z.boolean(),
    disabledReason: z.string().nullable(),
    /** Where the other system sends to. */
    url: z.string(),
    createdAt: z.string(),
  })
  .meta({ id: 'Hook' });
export type HookView = z.infer<typeof hookViewSchema>;
export const hookListSchema = z.object({ hooks: z.array(hookViewSchema) });
/** The one time that the secret is shown. */
export const createdHookSchema = hookViewSchema.extend({ secret: z.string() });

/** What a sender is told. */
export const tookWebhookSchema = z.looseObject({
  state: z.enum(['taken', 'duplicate', 'ignored', 'refused', 'challenge']),
});

/** Says which person an account of another system is; `PUT` and `DELETE /v1/account-links`, If-Match `"0"` the first time. */
export const accountLinkSchema = z.strictObject({
  source: z.enum(webhookSources),
  /** The account as the system names it for good: GitHub's and GitLab's user name, Slack's member id. */
  account: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[\w.-]+$/, 'must be the name of an account'),
  subject: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^\u0000-\u001f\u007f]+$/, 'must be one line of text'),
});
export const accountLinkListSchema = z.object({
  links: z.array(
    accountLinkSchema.extend({
      source: z.string(),
      changedBy: z.string(),
      changedAt: z.string(),
      /** What a change sends as If-Match. */
      version: z.int(),
    }),
  ),
});

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    // the runtime names no zone so
    return false;
  }
}
