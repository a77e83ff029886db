import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';
import { idPattern } from '../id.ts';
import { folderPathSchema } from '../agents/folder.ts';
import { repositorySourceSchema } from '../repository/source.ts';
import { agentIdSchema } from './agent.ts';
import { projectIdSchema } from './project.ts';

/** Types and statuses are a project's own words; these are the ones that pictures of other systems use. */
const word = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a word of a-z, 0-9 and "_"');
const oneLine = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\u0000-\u001f\u007f]+$/, 'must be one line of text');

export const objectIdSchema = z.string().regex(idPattern('object'), 'must be the id of an object');
const commentIdSchema = z.string().regex(idPattern('comment'), 'must be the id of a comment');

/** Longest text of an object or a comment, in characters. */
export const maxObjectText = 64 * 1024;

/** Who does something: a person or their program, an agent in a session, or an account of a system outside. */
export const actorSchema = z.object({
  kind: z.enum(['person', 'agent', 'external']),
  id: z.string(),
});

const assigneeSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('person'), id: oneLine(256) }),
  z.strictObject({ kind: z.literal('agent'), id: agentIdSchema }),
]);
const labels = z.array(oneLine(100)).max(50);

/** Body of `POST /v1/objects`. Assigning it to an agent starts a session. */
export const createObjectSchema = z.strictObject({
  project: projectIdSchema,
  type: word.default('task'),
  title: oneLine(300),
  body: z.string().max(maxObjectText).default(''),
  status: word.default('open'),
  labels: labels.default([]),
  assignee: assigneeSchema.nullable().default(null),
  /** What a session about it works on; absent: the project's repository. */
  repository: repositorySourceSchema.optional(),
});
export type CreateObject = z.output<typeof createObjectSchema>;

/** Body of `PATCH /v1/objects/:object`: what is named changes, everything else stays. */
export const changeObjectSchema = z
  .strictObject({
    title: oneLine(300),
    body: z.string().max(maxObjectText),
    status: word,
    labels,
    assignee: assigneeSchema.nullable(),
    repository: repositorySourceSchema.nullable(),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'must name what changes');
export type ChangeObject = z.output<typeof changeObjectSchema>;

export const objectFileSchema = z.object({
  session: z.string(),
  path: z.string(),
  bytes: z.int(),
  type: z.string(),
  /** Where the bytes are, below the API's address. */
  url: z.string(),
  attachedBy: actorSchema,
  attachedAt: z.string(),
});

/** An object; its ETag is the version in quotes. */
export const objectViewSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    version: z.int(),
    type: z.string(),
    title: z.string(),
    body: z.string(),
    status: z.string(),
    labels: z.array(z.string()),
    assignee: z.object({ kind: z.enum(['person', 'agent']), id: z.string() }).nullable(),
    repository: repositorySourceSchema.nullable(),
    /** `workspace`, or the system that it is a picture of. */
    source: z.string(),
    /** Its name there, such as `owner/repository#12`. */
    sourceKey: z.string().nullable(),
    url: z.string().nullable(),
    createdBy: actorSchema,
    createdAt: z.string(),
    changedAt: z.string(),
  })
  .meta({ id: 'WorkObject' });
export type ObjectView = z.infer<typeof objectViewSchema>;
export const objectWithFilesSchema = objectViewSchema.extend({ files: z.array(objectFileSchema) });
export const objectPageSchema = z.object({
  objects: z.array(objectViewSchema),
  nextCursor: z.string().nullable(),
});

/** Body of `POST /v1/objects/:object/comments`. An `@agent` in it starts a session of that agent. */
export const createCommentSchema = z.strictObject({
  body: z.string().min(1).max(maxObjectText),
  /** Of an agent's comment: goes on with the thread in a new session. */
  replyTo: commentIdSchema.optional(),
});

export const commentViewSchema = z.object({
  id: z.string(),
  object: z.string(),
  body: z.string(),
  replyTo: z.string().nullable(),
  createdBy: actorSchema,
  /** Of an agent: the session that wrote it. */
  session: z.string().nullable(),
  url: z.string().nullable(),
  createdAt: z.string(),
});
export type CommentView = z.infer<typeof commentViewSchema>;
export const commentPageSchema = z.object({
  comments: z.array(commentViewSchema),
  nextCursor: z.string().nullable(),
});

/** One act on an object: who did what, the newest first. */
export const objectActSchema = z.object({
  at: z.string(),
  act: z.string(),
  by: actorSchema,
  session: z.string().nullable(),
  detail: jsonObjectSchema,
});
export const objectHistorySchema = z.object({
  acts: z.array(objectActSchema),
  nextCursor: z.string().nullable(),
});

/** Body of `POST /v1/objects/:object/files`: a file that a session's agent wrote, by link. */
export const attachFileSchema = z.strictObject({
  session: z.string().regex(idPattern('session'), 'must be the id of a session'),
  path: folderPathSchema,
});

/** `GET` and body of `PUT /v1/projects/:id/workspace`. */
export const workspaceSchema = z.strictObject({
  /** What sessions work on whose object or trigger names no repository. */
  repository: repositorySourceSchema.nullable(),
});
