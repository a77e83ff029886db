import { z } from 'zod';
import { idPattern } from '../id.ts';
import { projectOrEverySchema } from './identity.ts';

/** What can be told to the outside. */
export const noticeTypes = [
  'session.state_changed',
  'approval.wanted',
  'budget.warning',
  'object.changed',
  'object.commented',
  'test',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

export const targetIdSchema = z.string().regex(idPattern('notifyTarget'), 'must be the id of a target');
export const messageIdSchema = z.string().regex(/^msg_[0-9a-f]{32}$/, 'must be the id of a message');

/** An address that a program is asked at; a login in it would be shown to whoever may see the target. */
const outsideUrl = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine((url) => new URL(url).username === '' && new URL(url).password === '', 'must not hold a login');

const placeSchema = z.discriminatedUnion('kind', [
  /** Signed as Standard Webhooks has it. */
  z.strictObject({ kind: z.literal('webhook'), url: outsideUrl }),
  /** An incoming webhook of Slack; its address is the secret. */
  z.strictObject({ kind: z.literal('slack') }),
  z.strictObject({ kind: z.literal('email'), addresses: z.array(z.email().max(254)).min(1).max(20) }),
  /** Comments on GitHub's issues and pull requests, by a token that may write them. */
  z.strictObject({ kind: z.literal('github'), url: outsideUrl.default('https://api.github.com') }),
  /** Comments on GitLab's issues and merge requests, by a token with the scope `api`. */
  z.strictObject({ kind: z.literal('gitlab'), url: outsideUrl.default('https://gitlab.com') }),
  /** Answers in threads of Slack, by a bot's token with the scope `chat:write`. */
  z.strictObject({ kind: z.literal('slack_thread'), url: outsideUrl.default('https://slack.com') }),
]);
export type NoticePlace = z.output<typeof placeSchema>;

/** Places to which an agent's comments are carried, by the system whose issues and threads they hold. */
export const carriers: Readonly<Partial<Record<string, NoticePlace['kind']>>> = {
  github: 'github',
  gitlab: 'gitlab',
  slack: 'slack_thread',
};

/** Whether this is the other side of a hook: told of agents' comments alone, as comments. */
export const isCarrier = ({ kind }: NoticePlace): boolean => Object.values(carriers).includes(kind);

/** Where something is told, and what. */
export const targetDefinitionSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .regex(/^[^\u0000-\u001f\u007f]+$/, 'must be one line of text'),
    place: placeSchema,
    events: z.array(z.enum(noticeTypes)).min(1).max(noticeTypes.length),
    enabled: z.boolean().default(true),
  })
  .refine(({ place, events }) => !isCarrier(place) || events.every((type) => type === 'object.commented'), {
    path: ['events'],
    message: 'must be object.commented alone: only comments are carried to such a place',
  });
export type TargetDefinition = z.output<typeof targetDefinitionSchema>;

const secretSchema = z
  .string()
  .min(16)
  .max(2048)
  .regex(/^[\x21-\x7e]+$/, 'must be printable characters');

/** Body of `POST /v1/notify-targets`. Of a webhook: `whsec_…`, made where there is none; of Slack: the address. */
export const createTargetSchema = z.strictObject({
  project: projectOrEverySchema,
  definition: targetDefinitionSchema,
  secret: secretSchema.optional(),
});
/** Body of `PUT /v1/notify-targets/:target`; without a secret the former one stays. */
export const changeTargetSchema = z.strictObject({
  definition: targetDefinitionSchema,
  secret: secretSchema.optional(),
});

export const targetViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    version: z.int(),
    definition: targetDefinitionSchema,
    enabled: z.boolean(),
    disabledReason: z.string().nullable(),
    changedBy: z.string(),
    createdAt: z.string(),
  })
  .meta({ id: 'NotifyTarget' });
export type TargetView = z.infer<typeof targetViewSchema>;
export const targetListSchema = z.object({ targets: z.array(targetViewSchema) });
/** The one time that a webhook's secret is shown; null where the target has none to show. */
export const createdTargetSchema = targetViewSchema.extend({ secret: z.string().nullable() });

/** One message with what became of it. */
export const messageViewSchema = z.object({
  id: z.string(),
  type: z.string(),
  state: z.enum(['pending', 'delivered', 'failed']),
  createdAt: z.string(),
  deliveredAt: z.string().nullable(),
  /** When it is tried again; null: not any more. */
  nextAt: z.string().nullable(),
  attempts: z.array(
    z.object({
      number: z.int(),
      at: z.string(),
      status: z.int().nullable(),
      durationMs: z.int(),
      fault: z.string().nullable(),
    }),
  ),
});
export type MessageView = z.infer<typeof messageViewSchema>;
export const messagePageSchema = z.object({
  messages: z.array(messageViewSchema),
  nextCursor: z.string().nullable(),
});
export const queuedMessageSchema = z.object({ message: z.string() });
