import { z } from 'zod';
import { diffSummarySchema } from '../repository/diff.ts';
import { endReasons } from '../session/end.ts';
import { sha256Schema } from './identity.ts';
import { readableObjectSchema } from './readable-object.ts';
import { carriedPatchSchema } from './session-result.ts';

/** Why a checkpoint is taken: the session is put away, or it goes on and may be lost. */
export const checkpointCauses = ['pause', 'interval'] as const;
export type CheckpointCause = (typeof checkpointCauses)[number];

const bytes = z.int().min(1);
const commit = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'must be a full commit id');
const uploaded = z.object({ uploadId: z.string().regex(/^[\w-]{1,64}$/), sha256: sha256Schema, bytes });

/**
 * `POST /internal/sessions/:id/attempts/:attempt/checkpoints`: both objects are uploaded and every event up to here is
 * acknowledged. Nothing of the session is in `calling`, and nothing of its agent runs. A repeat gets the same answer.
 */
export const takeCheckpointSchema = z.object({
  cause: z.enum(checkpointCauses),
  /** What the working copy was laid from; the diff of a resumed session is against the same commit. */
  baseCommit: commit,
  /** What the runtime remembers, in words of its own. */
  transcript: uploaded,
  /** Workspace and home as one tar, compressed with zstd. */
  archive: uploaded,
  /** sha256 of the workspace's part of the tar, which is the same for the same tree. */
  workspaceDigest: sha256Schema,
  homeDigest: sha256Schema,
  /** What the session has changed so far: offered if it is lost for good. Absent when it could not be made. */
  diff: diffSummarySchema.optional(),
  patch: carriedPatchSchema.optional(),
});
export type TakeCheckpoint = z.infer<typeof takeCheckpointSchema>;

/**
 * `stored`: the session goes on. `paused`: the attempt is over and its sandbox is to be destroyed. `stay`: stored too,
 * but what the session waited for has arrived meanwhile, so it goes on where it is.
 */
export const takeCheckpointAnswerSchema = z.object({
  outcome: z.enum(['stored', 'paused', 'stay']),
  number: z.int().min(1),
});
export type TakeCheckpointAnswer = z.infer<typeof takeCheckpointAnswerSchema>;

/** What a session goes on from, as its next server is told: addresses to read from, valid for minutes. */
export const resumeOrderSchema = z.object({
  number: z.int().min(1),
  baseCommit: commit,
  transcript: readableObjectSchema,
  archive: readableObjectSchema,
});
export type ResumeOrder = z.infer<typeof resumeOrderSchema>;

/**
 * `POST /internal/sessions/:id/attempts/:attempt/give-back`: this server could not go on from the checkpoint. The
 * session is tried elsewhere; when that has happened too often it ends as lost, with the message.
 */
export const giveBackSchema = z.object({ reason: z.enum(endReasons), message: z.string().max(16_384) });
export type GiveBack = z.infer<typeof giveBackSchema>;
