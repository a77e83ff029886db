import { z } from 'zod';
import { endReasons } from '../session/end.ts';
import { diffSummarySchema } from '../repository/diff.ts';
import { folderFileSchema, folderPathSchema } from '../agents/folder.ts';
import { builtEnvironmentSchema } from './environment.ts';
import { sha256Schema } from './identity.ts';

/** Patches up to this many bytes travel inline and stay in Postgres; larger ones go through an upload. */
export const inlinePatchBytes = 256 * 1024;

/** A patch on its way: in base64 when it is small, else the upload that holds it. */
export const carriedPatchSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('inline'),
    base64: z.string().max(Math.ceil(inlinePatchBytes / 3) * 4 + 4),
  }),
  z.object({
    kind: z.literal('upload'),
    uploadId: z.string().regex(/^[\w-]{1,64}$/, 'must be an upload id'),
  }),
]);

/** What the agent kept outside the repository: its memory, and files for people. Absent: not read. */
const collectedFoldersSchema = z.strictObject({
  memory: z.array(folderFileSchema).max(2_000).optional(),
  files: z.array(folderFileSchema).max(500).optional(),
  /** Files of the memory that hold what looks like a secret and were left out: where and what kind, never the secret. */
  refused: z
    .array(z.strictObject({ path: folderPathSchema, kinds: z.array(z.string().max(64)).min(1).max(20) }))
    .max(2_000)
    .optional(),
});
export type CollectedFolders = z.infer<typeof collectedFoldersSchema>;

/** `POST /internal/sessions/:id/attempts/:attempt/objects`: where contents of the attachments can be read, for minutes. */
export const objectAddressesRequestSchema = z.strictObject({ digests: z.array(sha256Schema).max(500) });
export const objectAddressesSchema = z.object({ addresses: z.record(z.string(), z.string()) });

/**
 * `POST /internal/sessions/:id/attempts/:attempt/result`: the attempt's last word, sent after every event was
 * acknowledged. Idempotent by attempt. A repeat with another result is refused (`conflict`).
 */
export const sessionResultSchema = z.object({
  reason: z.enum(endReasons),
  /** For a person: what went wrong, or the agent's closing words. */
  message: z.string().max(16_384),
  diff: diffSummarySchema.nullable(),
  /** The patch in base64 when it is small, else the upload that holds it. */
  patch: carriedPatchSchema.nullable(),
  /** Folders of `/home/agent` as they were left, their contents uploaded before. */
  collected: collectedFoldersSchema.optional(),
  /** Of a session that prepared an environment and `finished`. */
  environment: builtEnvironmentSchema.optional(),
  timingsMs: z.record(z.string(), z.number()),
});
export type SessionResult = z.infer<typeof sessionResultSchema>;

/**
 * `POST /v1/uploads` (people) and `POST /internal/sessions/:id/attempts/:attempt/uploads` (servers): asks for a
 * presigned address below `incoming/`. After the PUT, `POST …/uploads/:uploadId/complete` makes the dispatcher verify
 * length and digest and copy the bytes to their content-addressed key; only then can anything name them.
 */
export const uploadRequestSchema = z.strictObject({
  sha256: sha256Schema,
  bytes: z
    .int()
    .min(1)
    .max(5 * 1024 * 1024 * 1024),
});
export type UploadRequest = z.infer<typeof uploadRequestSchema>;

export const uploadAnswerSchema = z.object({
  uploadId: z.string(),
  /** Null when the bytes are there already: nothing has to be sent. */
  put: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }).nullable(),
});
export type UploadAnswer = z.infer<typeof uploadAnswerSchema>;
