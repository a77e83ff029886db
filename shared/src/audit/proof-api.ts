import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';
import { checkpointLineSchema } from './checkpoint-line.ts';

/** `GET /v1/audit/checkpoints?after=NUMBER&limit`: signed checkpoints by number. */
export const checkpointsPageSchema = z.object({
  checkpoints: z.array(checkpointLineSchema),
  nextAfter: z.int().nullable(),
  /** Number of the last signed one; null before the first. */
  last: z.int().nullable(),
});
export type CheckpointsPage = z.infer<typeof checkpointsPageSchema>;

/** `GET /v1/audit/proofs/inclusion?chain&seq&size`: that an entry is in the log of so many entries. */
export const inclusionProofSchema = z.object({
  index: z.int().min(0),
  path: z.array(sha256Schema).max(64),
});
export type InclusionProof = z.infer<typeof inclusionProofSchema>;

/** `GET /v1/audit/proofs/consistency?from&to`: that the larger log begins with the smaller one. */
export const consistencyProofSchema = z.object({ path: z.array(sha256Schema).max(128) });
export type ConsistencyProof = z.infer<typeof consistencyProofSchema>;
