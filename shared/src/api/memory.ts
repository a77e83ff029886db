import { z } from 'zod';
import { folderFileSchema } from '../agents/folder.ts';

const memoryFileSchema = folderFileSchema.extend({
  /** The session that wrote it; null: a person. */
  session: z.string().nullable(),
  at: z.string(),
});

/** What an agent remembers of a project; the ETag is the version in quotes. Version 0: nothing yet. */
export const memoryViewSchema = z.object({
  version: z.int(),
  files: z.array(memoryFileSchema),
  session: z.string().nullable(),
  changedBy: z.string().nullable(),
  changedAt: z.string().nullable(),
});
export type MemoryView = z.infer<typeof memoryViewSchema>;
export const memoryVersionsSchema = z.object({ versions: z.array(memoryViewSchema.omit({ files: true })) });
export const restoreMemorySchema = z.strictObject({ version: z.int().min(0) });

/** What a session wants remembered, until a person has looked at it. */
const memoryProposalSchema = z.object({
  session: z.string(),
  baseVersion: z.int(),
  files: z.array(folderFileSchema),
  createdAt: z.string(),
});
export type MemoryProposal = z.infer<typeof memoryProposalSchema>;
export const memoryProposalsSchema = z.object({ proposals: z.array(memoryProposalSchema) });
export const decideProposalSchema = z.strictObject({ decision: z.enum(['accept', 'reject']) });
export const decidedProposalSchema = z.object({ version: z.int(), notices: z.array(z.string()) });

/** Files that a session's agent wrote for people. */
export const sessionFilesSchema = z.object({
  files: z.array(folderFileSchema.extend({ type: z.string() })),
});
