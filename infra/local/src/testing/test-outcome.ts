import { z } from 'zod';

/** What the reporter tells of one test: one JSON text a line. */
export const testOutcomeSchema = z.object({
  outcome: z.enum(['passed', 'failed', 'skipped']),
  /** Names from the outermost suite to the test. */
  path: z.array(z.string()),
  file: z.string().optional(),
  durationMs: z.number(),
  /** Why it was skipped. */
  reason: z.string().optional(),
  /** The error with its causes and stack, as printed. */
  error: z.string().optional(),
});
export type TestOutcome = z.infer<typeof testOutcomeSchema>;
