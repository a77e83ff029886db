import { z } from 'zod';
import { idPattern } from '../id.ts';

export const inboxKinds = ['mention', 'assignment', 'result', 'failure', 'approval', 'budget'] as const;
export type InboxKind = (typeof inboxKinds)[number];

export const inboxItemIdSchema = z.string().regex(idPattern('inboxItem'), 'must be the id of an inbox item');

/** Something that waits for a person. */
export const inboxItemSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    project: z.string(),
    title: z.string(),
    object: z.string().nullable(),
    comment: z.string().nullable(),
    session: z.string().nullable(),
    approval: z.string().nullable(),
    createdAt: z.string(),
    readAt: z.string().nullable(),
    doneAt: z.string().nullable(),
  })
  .meta({ id: 'InboxItem' });
export type InboxItem = z.infer<typeof inboxItemSchema>;
export const inboxPageSchema = z.object({
  items: z.array(inboxItemSchema),
  /** Items of the whole inbox that are neither read nor done. */
  unread: z.int(),
  nextCursor: z.string().nullable(),
});

/** Body of `PUT /v1/inbox/:item`; what is not named stays. */
export const markInboxItemSchema = z
  .strictObject({ read: z.boolean(), done: z.boolean() })
  .partial()
  .refine((mark) => Object.keys(mark).length > 0, 'must name read or done');
export type MarkInboxItem = z.output<typeof markInboxItemSchema>;
