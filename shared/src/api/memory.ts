import { z } from 'zod';
import { folderFileSchema, folderPathSchema } from '../agents/folder.ts';

const memoryFileSchema = folderFileSchema.extend({
  /** The session that wrote it; null: a person. */
  session: z.string().nullable(),
  at: z.string(),
});

/** What an agent remembers of a project; the ETag is the version in quotes. Version 0: nothing yet. */
export const memoryViewSchema = z
  .object({
    version: z.int(),
    files: z.array(memoryFileSchema),
    session: z.string().nullable(),
    changedBy: z.string().nullable(),
    changedAt: z.string().nullable(),
  })
  .meta({ id: 'Memory' });
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

/** Body of `POST /v1/projects/:id/agents/:agent/memory/carries`: files of the agent's memory in another project. */
export const askToCarrySchema = z.strictObject({
  from: z.string().min(1).max(128),
  /** Absent: as the memory is now. */
  version: z.int().min(1).max(1_000_000_000).optional(),
  /** Absent: all of its files. */
  paths: z.array(folderPathSchema).min(1).max(2_000).optional(),
});

const memoryCarrySchema = z.object({
  id: z.string(),
  from: z.string(),
  fromVersion: z.int(),
  files: z.array(memoryFileSchema),
  askedBy: z.string(),
  createdAt: z.string(),
});
/** What somebody wants carried into a memory, until a person of its project has looked at it. */
export type MemoryCarry = z.infer<typeof memoryCarrySchema>;
export const memoryCarriesSchema = z.object({ carries: z.array(memoryCarrySchema) });

/** Files that a session's agent wrote for people. */
export const sessionFilesSchema = z.object({
  files: z.array(folderFileSchema.extend({ type: z.string() })),
});
