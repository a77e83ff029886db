import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';

/** Why a changed file is under dedicated control and marked in the review. */
export const fileFlags = [
  'ci',
  'build_script',
  'hook',
  'dependencies',
  'agent_instructions',
  'nested_git',
  'policy',
] as const;
export type FileFlag = (typeof fileFlags)[number];

/** One file of a diff. `insertions` and `deletions` are null for binary files. */
export const diffFileSchema = z.object({
  path: z.string(),
  previousPath: z.string().optional(),
  change: z.enum(['added', 'modified', 'deleted', 'renamed', 'copied', 'type_changed']),
  insertions: z.int().min(0).nullable(),
  deletions: z.int().min(0).nullable(),
  /** Git's modes where they differ, as in `100644` and `100755`; `120000` is a link, `000000` no file. */
  modes: z
    .object({ before: z.string().regex(/^[0-7]{6}$/), after: z.string().regex(/^[0-7]{6}$/) })
    .optional(),
  flags: z.array(z.enum(fileFlags)),
});
export type DiffFile = z.infer<typeof diffFileSchema>;

/** What a session's diff is about; the patch itself travels beside it. `baseCommit`/`baseTree` name what it applies to. */
export const diffSummarySchema = z
  .object({
    sha256: sha256Schema,
    bytes: z.int().min(0),
    baseCommit: z.string(),
    baseTree: z.string(),
    files: z.array(diffFileSchema).max(100_000),
    insertions: z.int().min(0),
    deletions: z.int().min(0),
  })
  .meta({ id: 'DiffSummary' });
export type DiffSummary = z.infer<typeof diffSummarySchema>;
